import { type Action, type Actor, type NewAuditEntry, recordAudit, type UserActor } from '../audit/entries.ts';
import { emailSkeleton, normalizeEmail } from '../lib/email-addresses.ts';
import { isId } from '../lib/ids.ts';
import { readPublicName } from '../lib/names.ts';
import type { Recipient } from '../mail/transport.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';

export interface User {
  id: string;
  email: string;
  /** Null if it has not been verified that the address belongs to this user. */
  emailVerifiedAt: number | null;
  /** The business whose invitation created the account; null if an operator added it. */
  originBusinessId: string | null;
  name: string;
  /** A language tag that they chose on the account page, or of the page that created the account; null for that of the browser. */
  language: string | null;
  isPlatformAdmin: boolean;
  currentBusinessId: string | null;
  createdAt: number;
  lastSignedInAt: number | null;
  disabledAt: number | null;
}

/** Undefined if a user has this email address already, or one that looks like it. */
export async function insertUser(db: Database, row: Row<'users'>): Promise<User | undefined> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('users')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows ? userFrom(row) : undefined;
}

export async function findUser(db: Database, id: string): Promise<User | undefined> {
  if (!isId(id)) return undefined;
  const { rows } = await readUser(db, { id });
  return rows[0] && userFrom(rows[0]);
}

const readUser = preparedQuery((db, { id }: Pick<User, 'id'>) =>
  db.selectFrom('users').selectAll().where('id', '=', id),
);

export async function findUserByEmail(db: Database, email: string): Promise<User | undefined> {
  return (await findCredentialsByEmail(db, email))?.user;
}

/** A user with the hash of the password that is current. */
export interface Credentials {
  user: User;
  passwordHash: string;
}

export async function findCredentials(db: Database, userId: string): Promise<Credentials | undefined> {
  return credentialsFrom(await db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirst());
}

export async function findCredentialsByEmail(db: Database, email: string): Promise<Credentials | undefined> {
  // PostgreSQL rejects a parameter with a NUL, and no stored text has one.
  if (email.includes('\0')) return undefined;
  const byEmail = db.selectFrom('users').selectAll().where('email', '=', normalizeEmail(email));
  return credentialsFrom(await byEmail.executeTakeFirst());
}

/**
 * Locks the row until the transaction ends. Notices for the user can still be added: a transaction that adds one may
 * hold another lock, and must not wait for this one.
 */
export async function lockUser(db: Database, userId: string): Promise<Credentials | undefined> {
  const row = await db.selectFrom('users').selectAll().where('id', '=', userId).forNoKeyUpdate().executeTakeFirst();
  return credentialsFrom(row);
}

/** Needs a transaction. Until it ends, nothing that refers to the user can be added. Lock everything else first. */
export async function lockUserForDeletion(db: Database, userId: string): Promise<void> {
  await db.selectFrom('users').select('id').where('id', '=', userId).forUpdate().execute();
}

/** False if the password was changed or the user was disabled since `passwordHash` was read: a password change ends every session. */
export function markSignedIn(db: Database, { user, passwordHash }: Credentials, now: number): Promise<boolean> {
  const update = updateUser(db, user.id, { last_signed_in_at: now });
  return isChanged(update.where('password_hash', '=', passwordHash).where('disabled_at', 'is', null));
}

export async function setPasswordHash(db: Database, userId: string, hash: string): Promise<void> {
  await updateUser(db, userId, { password_hash: hash }).execute();
}

/** False if the password was changed or the user was disabled since `passwordHash` was read. */
export function replacePasswordHash(
  db: Database,
  { user, passwordHash }: Credentials,
  newHash: string,
): Promise<boolean> {
  const update = updateUser(db, user.id, { password_hash: newHash });
  return isChanged(update.where('password_hash', '=', passwordHash).where('disabled_at', 'is', null));
}

export async function setCurrentBusiness(db: Database, userId: string, businessId: string): Promise<void> {
  await updateUser(db, userId, { current_business_id: businessId }).execute();
}

/** For the hosted pages and for mails. Null: the language that the browser sends in Accept-Language. */
export async function setLanguage(db: Database, userId: string, language: string | null): Promise<void> {
  await updateUser(db, userId, { language }).execute();
}

/** Changes nothing if this is the name already. */
export async function renameUser(
  actor: Actor,
  db: Database,
  { user, name }: { user: User; name: string },
  now: number,
): Promise<void> {
  const newName = readPublicName('name', name, user.name);
  await inTransaction(db, async (tx) => {
    if (!(await isChanged(updateUser(tx, user.id, { name: newName }).where('name', '!=', newName)))) return;
    await recordUserAudit(actor, tx, { action: 'user.renamed', user, detail: { to: newName } }, now);
  });
}

/** Whether another account has this address, or one that looks like it. */
export async function isAddressTaken(db: Database, { id, email }: Pick<User, 'id' | 'email'>): Promise<boolean> {
  const others = db.selectFrom('users').select('id').where('id', '!=', id);
  return (await others.where('email_skeleton', '=', emailSkeleton(email)).executeTakeFirst()) !== undefined;
}

/** The user has verified the address. */
export async function setEmail(db: Database, { id, email }: Pick<User, 'id' | 'email'>, now: number): Promise<void> {
  await updateUser(db, id, { email, email_skeleton: emailSkeleton(email), email_verified_at: now }).execute();
}

/** Records that the address is the user's own. Changes nothing if it is verified already. */
export async function verifyEmail(
  actor: Actor,
  db: Database,
  { user, businessId = null }: { user: User; businessId?: string | null },
  now: number,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const update = updateUser(tx, user.id, { email_verified_at: now });
    if (!(await isChanged(update.where('email_verified_at', 'is', null)))) return;
    await recordUserAudit(actor, tx, { action: 'user.email_verified', user, businessId }, now);
  });
}

/** The sessions and tokens of a disabled user stop working. False if the user is disabled already. */
export function markUserDisabled(db: Database, userId: string, now: number): Promise<boolean> {
  return isChanged(updateUser(db, userId, { disabled_at: now }).where('disabled_at', 'is', null));
}

export function markUserEnabled(db: Database, userId: string): Promise<boolean> {
  return isChanged(updateUser(db, userId, { disabled_at: null }).where('disabled_at', 'is not', null));
}

export async function listPlatformAdminIds(db: Database): Promise<string[]> {
  const admins = db.selectFrom('users').select('id').where('platform_admin', '=', 1).where('disabled_at', 'is', null);
  return (await admins.orderBy('id').execute()).map(({ id }) => id);
}

/** Everything that refers to the row has to be deleted before. */
export async function deleteUser(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('users').where('id', '=', userId).execute();
}

/** The ids of the enabled platform admins. Their rows are locked until the transaction ends. */
export async function lockPlatformAdmins(db: Database): Promise<string[]> {
  const admins = db.selectFrom('users').select('id').where('platform_admin', '=', 1).where('disabled_at', 'is', null);
  return (await admins.orderBy('id').forNoKeyUpdate().execute()).map(({ id }) => id);
}

/** A name is left out for an address that is not verified: whoever reads the mail there may not have chosen it. */
export function recipientOf({ email, emailVerifiedAt, name }: User): Recipient {
  return { address: email, ...(emailVerifiedAt !== null && { name }) };
}

export function userActor({ id, name, email }: User, address: string | null): UserActor {
  return { kind: 'user', id, name, email, address };
}

export function auditedUser({ id, name }: Pick<User, 'id' | 'name'>): NewAuditEntry['subject'] {
  return { kind: 'user', id, name };
}

interface UserEntry {
  action: Extract<Action, `user.${string}` | `factor.${string}` | 'passkey.all_removed'>;
  user: Pick<User, 'id' | 'name' | 'isPlatformAdmin'>;
  /** The business whose owners see the entry, if any. */
  businessId?: string | null;
  detail?: Record<string, string>;
}

export async function recordUserAudit(
  actor: Actor,
  db: Database,
  { action, user, businessId = null, detail }: UserEntry,
  now: number,
): Promise<void> {
  const role = user.isPlatformAdmin && { role: 'platform admin' };
  await recordAudit(db, { action, actor, businessId, subject: auditedUser(user), detail: { ...role, ...detail } }, now);
}

function updateUser(db: Database, userId: string, values: Partial<Row<'users'>>) {
  return db.updateTable('users').set(values).where('id', '=', userId);
}

async function isChanged(update: ReturnType<typeof updateUser>): Promise<boolean> {
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows === 1n;
}

function credentialsFrom(row: Row<'users'> | undefined): Credentials | undefined {
  return row && { user: userFrom(row), passwordHash: row.password_hash };
}

export function userFrom(row: Row<'users'>): User {
  return {
    id: row.id,
    email: row.email,
    emailVerifiedAt: row.email_verified_at,
    originBusinessId: row.origin_business_id,
    name: row.name,
    language: row.language,
    isPlatformAdmin: row.platform_admin === 1,
    currentBusinessId: row.current_business_id,
    createdAt: row.created_at,
    lastSignedInAt: row.last_signed_in_at,
    disabledAt: row.disabled_at,
  };
}
