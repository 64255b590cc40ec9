import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Credentials, findCredentials, type User } from '../accounts/users.ts';
import { DAY, SECOND } from '../lib/clock.ts';
import { MAX_EMAIL_LENGTH, normalizeEmail } from '../lib/email-addresses.ts';
import { TooManyRequests } from '../lib/errors.ts';
import { decodeSigned, encodeSigned, sign, verifySignature } from '../lib/keyring.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import type { WebDeps } from './deps.ts';
import { COOKIE_OPTIONS, clientOf } from './session.ts';

/** A browser in which the user has signed in before. */
interface KnownBrowser {
  userId: string;
  until: number;
  /** A signature of the password hash: a new password ends every known browser. */
  binding: string;
}

const NAME = '__Host-known';
const LIFETIME = 90 * DAY;
const BROWSER = 'known browser';
const BINDING = 'password of a known browser';

export function rememberBrowser(
  { keys, clock }: WebDeps,
  reply: FastifyReply,
  { user, passwordHash }: Credentials,
): void {
  const known: KnownBrowser = {
    userId: user.id,
    until: clock() + LIFETIME,
    binding: sign(keys, BINDING, passwordHash),
  };
  reply.setCookie(NAME, encodeSigned(keys, BROWSER, known), { ...COOKIE_OPTIONS, maxAge: LIFETIME / SECOND });
}

/** A sign-in in this browser, after the credentials were checked. */
export async function signInFrom(deps: WebDeps, request: FastifyRequest, credentials: Credentials) {
  const isKnownBrowser = await isKnown(deps, request, credentials.user.email);
  return { ...credentials, device: clientOf(request), previous: request.session, isKnownBrowser };
}

interface CountedAttempt {
  /** Refunds the attempt: the password was not checked, or the code was right. */
  refund(): Promise<void>;
  /** Refunds all attempts: the password was right. */
  reset(): Promise<void>;
}

/**
 * Counts an attempt to guess the password of an account. All attempts share one budget, wherever they come from. When it is
 * used up, the known browsers of the account share a small reserve: an attacker who keeps guessing cannot lock the user out,
 * and a collection of stolen cookies does not allow more guesses.
 */
export async function countAttempt(deps: WebDeps, request: FastifyRequest, email: string): Promise<CountedAttempt> {
  const account = normalizeEmail(email).slice(0, MAX_EMAIL_LENGTH);
  return countFor(deps, request, { account, key: account, limit: deps.limits.signInPerAccount });
}

/**
 * Counts an attempt to guess a code of an account. The budget is for a day, not for a quarter of an hour: a code has six
 * digits, and three are valid at a time. A right code refunds only itself: the sign-ins of the user give an attacker no further
 * guesses. Recovery codes are too long to guess, and have a budget of their own: they work after someone who knows the password
 * has used up the other one.
 */
export async function countCodeAttempt(
  deps: WebDeps,
  request: FastifyRequest,
  { user, method }: { user: User; method: 'code' | 'recovery code' },
): Promise<CountedAttempt> {
  const { codesPerAccount, signInPerAccount } = deps.limits;
  const limit = method === 'code' ? codesPerAccount : signInPerAccount;
  return countFor(deps, request, { account: user.email, key: `${method} ${user.id}`, limit });
}

interface Budget {
  account: string;
  key: string;
  limit: RateLimit;
}

async function countFor(
  deps: WebDeps,
  request: FastifyRequest,
  { account, key, limit }: Budget,
): Promise<CountedAttempt> {
  try {
    return await count(limit, key);
  } catch (error) {
    if (!(error instanceof TooManyRequests) || !(await isKnown(deps, request, account))) throw error;
    return count(deps.limits.signInReserve, key);
  }
}

async function count(limit: RateLimit, key: string): Promise<CountedAttempt> {
  await limit.count(key);
  return { refund: () => limit.refund(key), reset: () => limit.reset(key) };
}

async function isKnown({ storage, keys, clock }: WebDeps, request: FastifyRequest, account: string): Promise<boolean> {
  const known = decodeSigned<KnownBrowser>(keys, BROWSER, request.cookies[NAME] ?? '');
  if (!known || !(known.until > clock())) return false;
  const found = await findCredentials(storage.durable, known.userId);
  return found?.user.email === account && verifySignature(keys, BINDING, found.passwordHash, known.binding);
}
