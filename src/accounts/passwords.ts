import type { Actor } from '../audit/entries.ts';
import { FormError } from '../lib/errors.ts';
import { hashPassword, isCommonPassword, verifyPassword } from '../lib/passwords.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { notify } from './notices.ts';
import { type Device, deleteOtherSessions, insertSession, type Session, type SignedIn } from './sessions.ts';
import { type Credentials, findCredentialsByEmail, recordUserAudit, replacePasswordHash, type User } from './users.ts';

/** Takes the same time for an unknown email address as for a wrong password. */
export async function authenticateUser(
  db: Database,
  email: string,
  password: string,
): Promise<Credentials | undefined> {
  const found = await findCredentialsByEmail(db, email);
  const matches = await verifyPassword(password, found?.passwordHash);
  return found && matches && found.user.disabledAt === null ? found : undefined;
}

/** Slow by design: call it before a transaction, not inside. */
export async function hashNewPassword({ email }: Pick<User, 'email'>, password: string): Promise<string> {
  await rejectWeakPassword(password, email);
  return hashPassword(password);
}

interface PasswordChange {
  /** As they were when the current password was checked. */
  current: Credentials;
  password: string;
  device: Device;
  /** The session in which it is changed. */
  session: Session;
}

/** Ends every session and starts a new one. Undefined if the password has been changed or the user disabled meanwhile. */
export async function changePassword(
  actor: Actor,
  db: Database,
  { current, password, device, session: { secondFactor } }: PasswordChange,
  now: number,
): Promise<SignedIn | undefined> {
  const { user } = current;
  const passwordHash = await hashNewPassword(user, password);
  return inTransaction(db, async (tx) => {
    if (!(await replacePasswordHash(tx, current, passwordHash))) return undefined;
    const session = await insertSession(tx, { user, ...device, secondFactor }, now);
    await deleteOtherSessions(tx, session);
    await recordUserAudit(actor, tx, { action: 'user.password_changed', user }, now);
    await notify(tx, [user.id], { kind: 'password_changed', values: { how: 'account_page', two_step: 'kept' } }, now);
    return { session, user, passwordHash };
  });
}

async function rejectWeakPassword(password: string, email: string): Promise<void> {
  const length = [...password].length;
  if (length < 8) throw new FormError('password', (problems) => problems.passwordShort);
  if (length > 1024) throw new FormError('password', (problems) => problems.tooLong(1024));
  if (password.toLowerCase() === email) throw new FormError('password', (problems) => problems.passwordIsEmail);
  if (await isCommonPassword(password)) {
    throw new FormError('password', (problems) => problems.passwordCommon);
  }
}
