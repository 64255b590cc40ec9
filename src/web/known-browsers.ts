import type { FastifyReply, FastifyRequest } from 'fastify';
import { DAY, SECOND } from '../lib/clock.ts';
import { LONGEST_EMAIL, normalEmail } from '../lib/email-addresses.ts';
import { type Keyring, seal, unseal } from '../lib/keyring.ts';
import { newSecret } from '../lib/secrets.ts';
import { COOKIE } from './visits.ts';

/**
 * A browser that someone has signed in with before. Its wrong passwords are counted apart from everyone else's, so that
 * a stranger who keeps guessing can exhaust the account's limit but cannot keep its owner out.
 */
interface KnownBrowser {
  account: string;
  id: string;
}

const NAME = '__Host-known';
const KNOWN_FOR = 365 * DAY;

/** Under which name an attempt to sign in is counted. */
export function counterOf(keys: Keyring, request: FastifyRequest, email: string): string {
  const account = normalEmail(email).slice(0, LONGEST_EMAIL);
  const known = unseal<KnownBrowser>(keys, 'known browser', request.cookies[NAME] ?? '');
  return known?.account === account ? `${account} ${known.id}` : account;
}

export function rememberBrowser(keys: Keyring, reply: FastifyReply, email: string): void {
  const known: KnownBrowser = { account: normalEmail(email), id: newSecret() };
  reply.setCookie(NAME, seal(keys, 'known browser', known), { ...COOKIE, maxAge: KNOWN_FOR / SECOND });
}
