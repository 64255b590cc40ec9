import type { Actor } from '../audit/entries.ts';
import { FormError } from '../lib/errors.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { SecondFactor } from '../storage/account-tables.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { deleteAuthenticatorApp, findAuthenticatorApp, insertAuthenticatorApp, useCode } from './authenticator-apps.ts';
import { notify } from './notices.ts';
import {
  type Challenge,
  deletePasskey,
  listPasskeys,
  type Passkey,
  recordPasskeyAudit,
  spendChallenge,
  usePasskey,
} from './passkeys.ts';
import { countRecoveryCodes, deleteRecoveryCodes, replaceRecoveryCodes, useRecoveryCode } from './recovery-codes.ts';
import { isRequiredOf } from './second-factor-rules.ts';
import { deleteOtherSessions, markSecondFactor, resumeSession, type Session } from './sessions.ts';
import { lockUser, recordUserAudit, type User } from './users.ts';

/** What a user can sign in with besides the password. */
export interface SecondFactors {
  /** When the authenticator app was added; null without one. */
  appAddedAt: number | null;
  recoveryCodes: number;
  passkeys: Passkey[];
  isRequired: boolean;
}

interface FactorDeps {
  db: Database;
  keys: Keyring;
}

/** A code of the authenticator app, a recovery code, or a challenge that a passkey has signed. */
export type FactorAssertion =
  | { code: string }
  | { passkey: Passkey; verified: { counter: number; challenge: Challenge } };

export async function findSecondFactors(db: Database, userId: string): Promise<SecondFactors> {
  return {
    appAddedAt: (await findAuthenticatorApp(db, userId))?.addedAt ?? null,
    recoveryCodes: await countRecoveryCodes(db, userId),
    passkeys: await listPasskeys(db, userId),
    isRequired: await isRequiredOf(db, userId),
  };
}

/** Whether the password alone does not sign the user in. A user who has no factor yet sets one up after signing in. */
export function needsSecondStep({ appAddedAt, passkeys, isRequired }: SecondFactors): boolean {
  return appAddedAt !== null || (isRequired && passkeys.length > 0);
}

interface NewFactor {
  session: Session;
  secret: string;
  /** The time step of the code that confirmed the set-up. */
  step: number;
}

/**
 * Returns the recovery codes; undefined if the session has ended. Signs out every other session, since it has not
 * verified this factor.
 */
export async function addAuthenticatorApp(
  actor: Actor,
  { db, keys }: FactorDeps,
  { session, secret, step }: NewFactor,
  now: number,
): Promise<string[] | undefined> {
  const { user } = session;
  return inTransaction(db, async (tx) => {
    // Locks the user: an earlier password reset has ended this session, and a later one removes this factor.
    await lockUser(tx, user.id);
    const live = await resumeSession(tx, session.id, now);
    if (!live) return undefined;
    const { passkeys } = await findSecondFactors(tx, user.id);
    if (live.lacksSecondFactor && passkeys.length > 0) throw new FormError('code', 'Sign in with your passkey first.');
    if (!(await insertAuthenticatorApp(tx, keys, { userId: user.id, secret, step }, now))) {
      throw new FormError('code', 'You have set up an authenticator app already. Reload the page.');
    }
    await markSecondFactor(tx, session.id, 'authenticator app');
    await deleteOtherSessions(tx, session);
    await recordUserAudit(actor, tx, { action: 'factor.added', user }, now);
    await notify(tx, [user.id], { kind: 'factor_added', values: { passkey: '' } }, now);
    return replaceRecoveryCodes(tx, user.id);
  });
}

/** Six digits are a code of the authenticator app, whichever field they are typed in. */
export const isAppCode = (code: string): boolean => /^(?:\s*\d){6}\s*$/.test(code);

/** Undefined if the assertion is wrong or was used before. Needs a transaction. */
export async function verifySecondFactor(
  actor: Actor,
  { db, keys }: FactorDeps,
  { user, assertion }: { user: User; assertion: FactorAssertion },
  now: number,
): Promise<SecondFactor | undefined> {
  const userId = user.id;
  if ('passkey' in assertion) {
    const { passkey, verified } = assertion;
    if (passkey.userId !== userId || !(await spendChallenge(db, verified.challenge))) return undefined;
    return (await usePasskey(db, passkey.id, verified.counter, now)) ? 'passkey' : undefined;
  }
  const { code } = assertion;
  if (isAppCode(code)) {
    return (await useCode(db, keys, { userId, code }, now)) ? 'authenticator app' : undefined;
  }
  if (!(await useRecoveryCode(db, { userId, code }))) return undefined;
  const left = String(await countRecoveryCodes(db, userId));
  await recordUserAudit(actor, db, { action: 'factor.recovery_code_used', user, detail: { left } }, now);
  await notify(db, [userId], { kind: 'recovery_code_used', values: { left } }, now);
  return 'recovery code';
}

interface StepUpChange {
  user: User;
  assertion: FactorAssertion | undefined;
}

/** Removes the recovery codes as well. False if there is no authenticator app. */
export async function removeAuthenticatorApp(
  actor: Actor,
  { db, keys }: FactorDeps,
  { user, assertion }: StepUpChange,
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    await lockUser(tx, user.id);
    const { appAddedAt, passkeys, isRequired } = await findSecondFactors(tx, user.id);
    if (appAddedAt === null) return false;
    if (isRequired && passkeys.length === 0) throw lastFactor();
    await requireStepUp(actor, { db: tx, keys }, { user, assertion }, now);
    await deleteSecondFactors(tx, user.id);
    await recordRemoval(actor, tx, user, now);
    return true;
  });
}

/** The previous codes stop working. Undefined if there is no authenticator app. */
export async function renewRecoveryCodes(
  actor: Actor,
  { db, keys }: FactorDeps,
  { user, assertion }: StepUpChange,
  now: number,
): Promise<string[] | undefined> {
  return inTransaction(db, async (tx) => {
    await lockUser(tx, user.id);
    if (!(await findAuthenticatorApp(tx, user.id))) return undefined;
    await requireStepUp(actor, { db: tx, keys }, { user, assertion }, now);
    await recordUserAudit(actor, tx, { action: 'factor.recovery_codes_renewed', user }, now);
    await notify(tx, [user.id], { kind: 'recovery_codes_renewed', values: {} }, now);
    return replaceRecoveryCodes(tx, user.id);
  });
}

/**
 * A passkey that only replaces the password can be removed without step-up authentication: the password alone is enough
 * to sign in.
 */
export function needsStepUp({ appAddedAt, isRequired }: SecondFactors): boolean {
  return appAddedAt !== null || isRequired;
}

/** False if the user has no such passkey. */
export async function removePasskey(
  actor: Actor,
  { db, keys }: FactorDeps,
  { user, id, assertion }: StepUpChange & { id: string },
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    await lockUser(tx, user.id);
    const factors = await findSecondFactors(tx, user.id);
    if (!factors.passkeys.some((passkey) => passkey.id === id)) return false;
    if (factors.isRequired && factors.appAddedAt === null && factors.passkeys.length === 1) throw lastFactor();
    if (needsStepUp(factors)) await requireStepUp(actor, { db: tx, keys }, { user, assertion }, now);
    const passkey = await deletePasskey(tx, user.id, id);
    if (!passkey) return false;
    await recordPasskeyAudit(actor, tx, { action: 'passkey.removed', passkey }, now);
    const values = { factor: 'passkey', passkey: passkey.name, by: 'user' } as const;
    await notify(tx, [user.id], { kind: 'factor_removed', values }, now);
    return true;
  });
}

/** Throws, which rolls the transaction back: a wrong assertion spends neither a code nor a challenge. */
async function requireStepUp(
  actor: Actor,
  deps: FactorDeps,
  { user, assertion }: StepUpChange,
  now: number,
): Promise<void> {
  if (assertion && (await verifySecondFactor(actor, deps, { user, assertion }, now))) return;
  throw wrongCode();
}

export function wrongCode(): FormError {
  return new FormError('code', (problems) => problems.wrongCode);
}

function lastFactor(): FormError {
  const sentence = 'Two-step sign-in is required, and this is your only second step. Add another one first.';
  return new FormError('code', sentence);
}

/** The notice does not name the person who acted for the platform. */
async function recordRemoval(actor: Actor, tx: Database, user: User, now: number): Promise<void> {
  await recordUserAudit(actor, tx, { action: 'factor.removed', user }, now);
  const by = actor.id === user.id ? 'user' : 'operator';
  await notify(tx, [user.id], { kind: 'factor_removed', values: { factor: 'app', passkey: '', by } }, now);
}

/** An operator removes the authenticator app and the recovery codes. False if there is none. */
export async function resetSecondFactor(actor: Actor, db: Database, user: User, now: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    if (!(await deleteSecondFactors(tx, user.id))) return false;
    await recordRemoval(actor, tx, user, now);
    return true;
  });
}

/** False if there was no authenticator app. */
export async function deleteSecondFactors(db: Database, userId: string): Promise<boolean> {
  await deleteRecoveryCodes(db, userId);
  return deleteAuthenticatorApp(db, userId);
}
