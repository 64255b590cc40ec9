import { type Actor, type NewAuditEntry, recordAudit, recordAuditEntries, type UserActor } from '../audit/entries.ts';
import { type AuditEntry, listEntriesOn } from '../audit/log.ts';
import { countRepeat } from '../audit/repeats.ts';
import { DAY, HOUR } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import type { Keyring } from '../lib/keyring.ts';
import { hashSecret } from '../lib/secrets.ts';
import { parseUserAgent } from '../lib/user-agents.ts';
import type { SecondFactor } from '../storage/account-tables.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { listMemberships } from './memberships.ts';
import { notify } from './notices.ts';
import { type Challenge, type Passkey, spendChallenge, usePasskey } from './passkeys.ts';
import { findSecondFactors, needsSecondStep, verifySecondFactor } from './second-factors.ts';
import {
  type Device,
  deleteSession,
  insertSession,
  recordSessionAudit,
  type Session,
  type SessionEntry,
  type SignedIn,
  sessionSubject,
} from './sessions.ts';
import { auditedUser, type Credentials, markSignedIn, type User, userActor } from './users.ts';

type Method = 'password' | 'passkey' | 'code' | 'recovery code';

interface SignIn extends Credentials {
  device: Device;
  /** The session that this browser had so far. It ends: every sign-in creates a new session id. */
  previous: Session | undefined;
  /** Whether this browser has signed in to the account before. */
  isKnownBrowser: boolean;
}

/**
 * After the password was checked. Undefined if it has been changed, or the user disabled, meanwhile. `second_step` if the
 * password is not enough: then there is no session yet.
 */
export function signIn(db: Database, attempt: SignIn, now: number): Promise<SignedIn | 'second_step' | undefined> {
  return inTransaction(db, async (tx) => {
    if (needsSecondStep(await findSecondFactors(tx, attempt.user.id))) return 'second_step';
    return startSession(tx, { ...attempt, secondFactor: null }, now);
  });
}

interface SecondStep extends SignIn {
  keys: Keyring;
  /** A code of the authenticator app, or a recovery code. */
  code: string;
}

/** After the password was checked. Undefined if the code is wrong or was used, or if the password was changed meanwhile. */
export function signInWithCode(
  db: Database,
  { keys, code, ...attempt }: SecondStep,
  now: number,
): Promise<SignedIn | undefined> {
  const { user, device } = attempt;
  return inTransaction(db, async (tx) => {
    const actor = userActor(user, device.address);
    const secondFactor = await verifySecondFactor(actor, { db: tx, keys }, { user, assertion: { code } }, now);
    return secondFactor && startSession(tx, { ...attempt, secondFactor }, now);
  });
}

interface PasskeySignIn extends SignIn {
  passkey: Passkey;
  /** What the authenticator has signed. */
  verified: { counter: number; challenge: Challenge };
}

/** Undefined if the challenge has been used before, or the passkey removed or cloned. */
export function signInWithPasskey(
  db: Database,
  { passkey, verified, ...attempt }: PasskeySignIn,
  now: number,
): Promise<SignedIn | undefined> {
  return inTransaction(db, async (tx) => {
    if (!(await spendChallenge(tx, verified.challenge))) return undefined;
    if (!(await usePasskey(tx, passkey.id, verified.counter, now))) return undefined;
    return startSession(tx, { ...attempt, secondFactor: 'passkey' }, now);
  });
}

/** As the audit log names them. */
const METHODS = {
  none: 'password',
  passkey: 'passkey',
  'authenticator app': 'password and a code',
  'recovery code': 'password and a recovery code',
} as const;

async function startSession(
  tx: Database,
  {
    user,
    passwordHash,
    device,
    previous,
    isKnownBrowser,
    secondFactor,
  }: SignIn & { secondFactor: SecondFactor | null },
  now: number,
): Promise<SignedIn | undefined> {
  if (!(await markSignedIn(tx, { user, passwordHash }, now))) return undefined;
  if (previous) await deleteSession(tx, previous.id);
  const session = await insertSession(tx, { user, ...device, secondFactor }, now);
  const entry = {
    idHash: hashSecret(session.id),
    browser: device.browser,
    detail: { with: METHODS[secondFactor ?? 'none'] },
  };
  const actor = userActor(user, device.address);
  await recordSessionAudit(actor, tx, { action: 'session.started', ...entry }, now);
  await recordForOwners(actor, tx, entry, now);
  if (!isKnownBrowser) {
    const values = { ...parseUserAgent(device.browser), address: device.address };
    const cause = `${user.id} ${values.browser} on ${values.system} ${networkOf(device.address)}`;
    await notify(tx, [user.id], { kind: 'new_sign_in', values, cause }, now);
  }
  return { session, user, passwordHash };
}

/** For the owners of each business: the 1st, 10th, 100th … sign-in of a member from one network within an hour. */
async function recordForOwners(
  actor: UserActor,
  tx: Database,
  { detail, ...session }: Required<Omit<SessionEntry, 'action'>>,
  now: number,
): Promise<void> {
  const subject = sessionSubject(session);
  for (const businessId of await listBusinessIds(tx, actor.id)) {
    const key = `session.member_started ${businessId} ${actor.id} ${networkOf(actor.address ?? '')}`;
    const times = await countRepeat(tx, { key, window: WINDOW }, now);
    if (!isPowerOfTen(times)) continue;
    const counted = { ...detail, ...(times > 1 && { times_within_an_hour: String(times) }) };
    await recordAudit(tx, { action: 'session.member_started', actor, businessId, subject, detail: counted }, now);
  }
}

/** In one order, so that concurrent sign-ins of a user cannot block each other. */
async function listBusinessIds(db: Database, userId: string): Promise<string[]> {
  return (await listMemberships(db, userId)).map(({ businessId }) => businessId).toSorted();
}

function isPowerOfTen(times: number): boolean {
  return Number.isInteger(Math.log10(times));
}

interface FailedSignIn {
  /** Undefined if there is no such account. */
  user: User | undefined;
  method: Method;
  address: string;
}

const WINDOW = HOUR;
const SHOWN = 5;
const SHOWN_FOR = 90 * DAY;

/**
 * Records the 1st, 10th, 100th … failure of an account within an hour, which limits how much an attacker can add to the
 * audit log. For an unknown account it runs the same statements, and only counts: neither reveals which accounts exist.
 */
export async function recordFailedSignIn(db: Database, failed: FailedSignIn, now: number): Promise<void> {
  const { user, method, address } = failed;
  const key = `session.failed ${user?.id ?? networkOf(address)}`;
  await inTransaction(db, async (tx) => {
    const times = await countRepeat(tx, { key, window: WINDOW }, now);
    const businessIds = await listBusinessIds(tx, user?.id ?? newId(now));
    const isRecorded = user !== undefined && isPowerOfTen(times);
    await recordAuditEntries(tx, isRecorded ? failureEntries({ ...failed, user }, { times, businessIds }) : [], now);
    if (!isRecorded || (method !== 'code' && method !== 'recovery code')) return;
    await notify(tx, [user.id], { kind: 'wrong_code', values: { address }, cause: user.id }, now);
  });
}

/** One for the user and the platform, and one for the owners of each business. */
function failureEntries(
  { user, method, address }: Required<FailedSignIn> & { user: User },
  { times, businessIds }: { times: number; businessIds: string[] },
): NewAuditEntry[] {
  const actor: Actor = { kind: 'anonymous', id: null, name: 'Someone', email: null, address };
  const detail = { with: method, ...(times > 1 && { attempts_within_an_hour: String(times) }) };
  const entry = { actor, personId: user.id, subject: auditedUser(user), detail };
  const copies = businessIds.map((businessId) => ({ ...entry, action: 'session.member_failed' as const, businessId }));
  return [{ ...entry, action: 'session.failed', businessId: null }, ...copies];
}

/** The latest ones, as the account page shows them. */
export function listFailedSignIns(db: Database, userId: string, now: number): Promise<AuditEntry[]> {
  return listEntriesOn(db, { subjectId: userId, actions: ['session.failed'], since: now - SHOWN_FOR, limit: SHOWN });
}
