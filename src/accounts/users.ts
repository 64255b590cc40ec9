import { emailSkeleton, normalizeEmail, readEmail } from '../lib/email-addresses.ts';
import { FormError } from '../lib/errors.ts';
import { isId, newId } from '../lib/ids.ts';
import { readName } from '../lib/names.ts';
import { hashPassword, isCommonPassword, verifyPassword } from '../lib/passwords.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { contains, type SearchTerm } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';

export interface User {
  id: string;
  email: string;
  /** Null if nobody has verified yet that the address is this person's. */
  emailVerifiedAt: number | null;
  /** The business whose invitation the account was made with; null for one that an operator has added. */
  originBusinessId: string | null;
  name: string;
  isPlatformAdmin: boolean;
  currentBusinessId: string | null;
  createdAt: number;
  lastSignedInAt: number | null;
  disabledAt: number | null;
}

export interface NewUser {
  email: string;
  name: string;
  password: string;
  isPlatformAdmin: boolean;
  /** For an account made with an invitation: its address is not verified. */
  originBusinessId?: string;
}

export async function addUser(db: Database, user: NewUser, now: number): Promise<User> {
  const added = await insertUser(db, await prepareUser(user, now));
  if (!added) {
    throw new FormError('email', 'There is a user with this email address, or with one that looks like it, already.');
  }
  return added;
}

/** Slow on purpose, since it hashes the password, and so not for inside a transaction. */
export async function prepareUser(user: NewUser, now: number): Promise<Row<'users'>> {
  const email = readEmail(user.email);
  const name = readName('name', user.name);
  await rejectWeakPassword(user.password, email);
  const passwordHash = await hashPassword(user.password);
  return newUserRow({ ...user, email, name, passwordHash }, now);
}

export function newUserRow(user: Omit<NewUser, 'password'> & { passwordHash: string }, now: number): Row<'users'> {
  const { email, name, passwordHash, isPlatformAdmin, originBusinessId } = user;
  return {
    id: newId(now),
    email,
    email_skeleton: emailSkeleton(email),
    email_verified_at: originBusinessId === undefined ? now : null,
    origin_business_id: originBusinessId ?? null,
    name,
    password_hash: passwordHash,
    platform_admin: isPlatformAdmin ? 1 : 0,
    current_business_id: null,
    last_signed_in_at: null,
    created_at: now,
    disabled_at: null,
  };
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
  const row = await findRowByEmail(db, email);
  return row && userFrom(row);
}

export async function listUsers(db: Database): Promise<User[]> {
  return (await db.selectFrom('users').selectAll().orderBy('email').execute()).map(userFrom);
}

/** By name, email or id. */
export async function searchUsers(db: Database, { search, after, limit }: SearchTerm): Promise<User[]> {
  let query = db.selectFrom('users').selectAll().orderBy('id', 'desc').limit(limit);
  if (after) query = query.where('id', '<', after);
  if (isId(search)) query = query.where('id', '=', search);
  else if (search) query = query.where(contains(['name', 'email'], search));
  return (await query.execute()).map(userFrom);
}

/** Someone who knew the password, and the hash it was checked against. */
export interface Credentials {
  user: User;
  passwordHash: string;
}

/** Takes as long, and says as little, for an unknown email as for a wrong password. */
export async function authenticateUser(
  db: Database,
  email: string,
  password: string,
): Promise<Credentials | undefined> {
  const row = await findRowByEmail(db, email);
  const matches = await verifyPassword(password, row?.password_hash);
  return row && matches && row.disabled_at === null
    ? { user: userFrom(row), passwordHash: row.password_hash }
    : undefined;
}

/**
 * Checking a password takes a while. False if it was changed, or the user disabled, in the meantime: whoever changes it
 * ends every session, and none may slip in behind.
 */
export async function markSignedIn(
  db: Database,
  { userId, passwordHash }: { userId: string; passwordHash: string },
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({ last_signed_in_at: now })
    .where('id', '=', userId)
    .where('password_hash', '=', passwordHash)
    .where('disabled_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** For someone who has proven in another way than by the password who they are. */
export async function findCredentials(db: Database, userId: string): Promise<Credentials | undefined> {
  const row = await db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirst();
  return row && { user: userFrom(row), passwordHash: row.password_hash };
}

/** False if this is the user's name already. */
export async function updateName(db: Database, userId: string, text: string): Promise<boolean> {
  const name = readName('name', text);
  const named = db.updateTable('users').set({ name }).where('id', '=', userId).where('name', '!=', name);
  const { numUpdatedRows } = await named.executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** Slow on purpose, and so not for inside a transaction. */
export async function hashNewPassword(user: User, password: string): Promise<string> {
  await rejectWeakPassword(password, user.email);
  return hashPassword(password);
}

export async function setPasswordHash(db: Database, userId: string, hash: string): Promise<void> {
  await db.updateTable('users').set({ password_hash: hash }).where('id', '=', userId).execute();
}

/** False if the password that was asked for has been changed, or the user disabled, in the meantime. */
export async function replacePasswordHash(
  db: Database,
  { userId, passwordHash, hash }: { userId: string; passwordHash: string; hash: string },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({ password_hash: hash })
    .where('id', '=', userId)
    .where('password_hash', '=', passwordHash)
    .where('disabled_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** False if the address was verified already. */
export async function markEmailVerified(db: Database, userId: string, now: number): Promise<boolean> {
  const unverified = db.updateTable('users').set({ email_verified_at: now }).where('id', '=', userId);
  const { numUpdatedRows } = await unverified.where('email_verified_at', 'is', null).executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** The row of a user, locked until the transaction ends. */
export async function lockUser(db: Database, userId: string): Promise<Credentials | undefined> {
  const row = await db.selectFrom('users').selectAll().where('id', '=', userId).forUpdate().executeTakeFirst();
  return row && { user: userFrom(row), passwordHash: row.password_hash };
}

export async function setCurrentBusiness(db: Database, userId: string, businessId: string): Promise<void> {
  await db.updateTable('users').set({ current_business_id: businessId }).where('id', '=', userId).execute();
}

/** A disabled user's sessions and tokens stop at their very next use. What the user had allowed is kept. False if it was so already. */
export async function markUserDisabled(db: Database, userId: string, now: number): Promise<boolean> {
  const enabled = db.updateTable('users').set({ disabled_at: now }).where('id', '=', userId);
  const { numUpdatedRows } = await enabled.where('disabled_at', 'is', null).executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

export async function markUserEnabled(db: Database, userId: string): Promise<boolean> {
  const disabled = db.updateTable('users').set({ disabled_at: null }).where('id', '=', userId);
  const { numUpdatedRows } = await disabled.where('disabled_at', 'is not', null).executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** The ids of those who can sign in as platform admins. Until the transaction ends, nobody else can disable one. */
export async function lockPlatformAdmins(db: Database): Promise<string[]> {
  const admins = db.selectFrom('users').select('id').where('platform_admin', '=', 1).where('disabled_at', 'is', null);
  return (await admins.orderBy('id').forUpdate().execute()).map(({ id }) => id);
}

async function findRowByEmail(db: Database, email: string) {
  // No stored text holds a NUL, and not every database would even look for one.
  if (email.includes('\0')) return undefined;
  return db.selectFrom('users').selectAll().where('email', '=', normalizeEmail(email)).executeTakeFirst();
}

async function rejectWeakPassword(password: string, email: string): Promise<void> {
  const length = [...password].length;
  if (length < 8) throw new FormError('password', 'Use at least 8 characters.');
  if (length > 1024) throw new FormError('password', 'Use at most 1,024 characters.');
  if (password.toLowerCase() === email) throw new FormError('password', 'Use something other than the email address.');
  if (await isCommonPassword(password)) {
    throw new FormError('password', 'This is one of the passwords that attackers try first. Choose another.');
  }
}

export function userFrom(row: Row<'users'>): User {
  return {
    id: row.id,
    email: row.email,
    emailVerifiedAt: row.email_verified_at,
    originBusinessId: row.origin_business_id,
    name: row.name,
    isPlatformAdmin: row.platform_admin === 1,
    currentBusinessId: row.current_business_id,
    createdAt: row.created_at,
    lastSignedInAt: row.last_signed_in_at,
    disabledAt: row.disabled_at,
  };
}
