import { isId, newId } from '../lib/ids.ts';
import { readName } from '../lib/names.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';
import { lockUser } from './users.ts';

/** A key that a person's own device keeps, and unlocks for them alone. It signs in without a password. */
export interface Passkey {
  id: string;
  userId: string;
  name: string;
  createdAt: number;
  lastUsedAt: number | null;
  credential: Credential;
}

/** What an authenticator has told of the key. */
export interface Credential {
  /** As the authenticator calls it, in base64url. */
  id: string;
  publicKey: Uint8Array<ArrayBuffer>;
  /** How often the key was used, where its authenticator counts. */
  counter: number;
  transports: string[];
}

interface NewPasskey {
  userId: string;
  name: string;
  credential: Credential;
}

/** So many that nobody will miss another, and so few that they all fit on a page. */
const MOST_PASSKEYS = 20;

/**
 * Undefined if the credential is known already, whoever's it is, or if the user has as many as there may be. Needs a
 * transaction: the user's row makes a second addition wait until this one is counted.
 */
export async function insertPasskey(db: Database, passkey: NewPasskey, now: number): Promise<Passkey | undefined> {
  const { userId, name, credential } = passkey;
  await lockUser(db, userId);
  if ((await listPasskeys(db, userId)).length >= MOST_PASSKEYS) return undefined;
  const row = {
    id: newId(now),
    credential_id: credential.id,
    user_id: userId,
    name: readName('passkey_name', name),
    public_key: credential.publicKey,
    counter: credential.counter,
    transports: JSON.stringify(credential.transports),
    created_at: now,
    last_used_at: null,
  };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('passkeys')
    .values(row)
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows ? fromRow(row) : undefined;
}

export async function listPasskeys(db: Database, userId: string): Promise<Passkey[]> {
  const rows = await db.selectFrom('passkeys').selectAll().where('user_id', '=', userId).orderBy('id').execute();
  return rows.map(fromRow);
}

export async function findPasskey(db: Database, credentialId: string): Promise<Passkey | undefined> {
  // No stored text holds a NUL, and not every database would even look for one.
  if (!/^[\w-]+$/.test(credentialId)) return undefined;
  const row = await db.selectFrom('passkeys').selectAll().where('credential_id', '=', credentialId).executeTakeFirst();
  return row && fromRow(row);
}

/**
 * False if the passkey was removed meanwhile, or if its counter does not move on: then there may be two of what should
 * be one (WebAuthn §6.1.1). A counter that stays at zero is one that the authenticator does not keep.
 */
export async function usePasskey(db: Database, id: string, counter: number, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('passkeys')
    .set({ counter, last_used_at: now })
    .where('id', '=', id)
    .where('counter', counter === 0 ? '=' : '<', counter)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** What was removed, or undefined if the user has no such passkey. */
export async function deletePasskey(db: Database, userId: string, id: string): Promise<Passkey | undefined> {
  if (!isId(id)) return undefined;
  const row = await db
    .deleteFrom('passkeys')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .returningAll()
    .executeTakeFirst();
  return row && fromRow(row);
}

export async function deletePasskeysOfUser(db: Database, userId: string): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('passkeys').where('user_id', '=', userId).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

function fromRow(row: Row<'passkeys'>): Passkey {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    credential: {
      id: row.credential_id,
      publicKey: new Uint8Array(row.public_key),
      counter: row.counter,
      transports: JSON.parse(row.transports),
    },
  };
}
