import { Secret, TOTP } from 'otpauth';
import { DAY, SECOND } from '../lib/clock.ts';
import { decrypt, encrypt, encryptionKeyId, type Keyring } from '../lib/keyring.ts';
import { newNonce } from '../lib/secrets.ts';
import type { Database } from '../storage/storage.ts';

const PURPOSE = 'authenticator app';

/** RFC 4226 §4: at least 128 bits, 160 recommended. */
const SECRET_LENGTH = 20;
const PERIOD = 30;
/** Accepts the code before and the code after: the clock of a phone may differ (RFC 6238 §5.2). */
const WINDOW = 1;
const STEPS_PER_DAY = DAY / SECOND / PERIOD;

/** In base32, as authenticator apps show it. */
export function newAuthenticatorSecret(): string {
  return new Secret({ buffer: new Uint8Array(newNonce(SECRET_LENGTH)).buffer }).base32;
}

/** The content of the QR code. */
export function authenticatorUri(secret: string, { issuer, account }: { issuer: string; account: string }): string {
  return new TOTP({ issuer, label: account, secret, period: PERIOD }).toString();
}

/** The time step that a code is for. Undefined if it is for none that is accepted now. */
export function findTimeStep(secret: string, code: string, now: number): number | undefined {
  const token = code.replaceAll(/\s/g, '');
  if (!/^\d{6}$/.test(token)) return undefined;
  const delta = new TOTP({ secret, period: PERIOD }).validate({ token, timestamp: now, window: WINDOW });
  return delta === null ? undefined : Math.floor(now / SECOND / PERIOD) + delta;
}

interface NewAuthenticatorApp {
  userId: string;
  secret: string;
  /** The time step of the code that confirmed it, which must not work again. */
  step: number;
}

/** False if the user has one already. */
export async function insertAuthenticatorApp(
  db: Database,
  keys: Keyring,
  { userId, secret, step }: NewAuthenticatorApp,
  now: number,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('authenticator_apps')
    .values({ user_id: userId, secret: encrypt(keys, PURPOSE, secret), used_step: step, added_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

/** When it was added; undefined if the user has none. */
export async function findAuthenticatorApp(db: Database, userId: string): Promise<{ addedAt: number } | undefined> {
  const app = db.selectFrom('authenticator_apps').select('added_at as addedAt').where('user_id', '=', userId);
  return app.executeTakeFirst();
}

/**
 * Atomic: of concurrent requests with one code, the conditional UPDATE succeeds for one. A used step of more than a day
 * ahead was stored while the clock was wrong, and does not count.
 */
export async function useCode(
  db: Database,
  keys: Keyring,
  { userId, code }: { userId: string; code: string },
  now: number,
): Promise<boolean> {
  const row = await db
    .selectFrom('authenticator_apps')
    .select('secret')
    .where('user_id', '=', userId)
    .executeTakeFirst();
  const secret = row && decrypt(keys, PURPOSE, row.secret);
  const step = secret && findTimeStep(secret, code, now);
  if (step === undefined || step === '') return false;
  const { numUpdatedRows } = await db
    .updateTable('authenticator_apps')
    .set({ used_step: step })
    .where('user_id', '=', userId)
    .where(({ eb, or }) => or([eb('used_step', '<', step), eb('used_step', '>', step + STEPS_PER_DAY)]))
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

export async function deleteAuthenticatorApp(db: Database, userId: string): Promise<boolean> {
  const deletion = db.deleteFrom('authenticator_apps').where('user_id', '=', userId);
  return (await deletion.executeTakeFirstOrThrow()).numDeletedRows === 1n;
}

const BATCH = 500;

/** How many secrets are encrypted with each key, by the key's id in hex. */
export async function countAuthenticatorsByKey(db: Database): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const { secret } of readSecrets(db)) {
    const id = encryptionKeyId(secret).toString('hex');
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** Encrypts every secret with the first key. `lost` are the users whose secret cannot be decrypted: its key is gone. */
export async function reencryptAuthenticators(db: Database, keys: Keyring) {
  let reencrypted = 0;
  const lost: string[] = [];
  for await (const { user_id: userId, secret } of readSecrets(db)) {
    if (encryptionKeyId(secret).equals(keys.signing.id)) continue;
    const plain = decrypt(keys, PURPOSE, secret);
    if (plain === undefined) lost.push(userId);
    else if (await replaceSecret(db, { userId, from: secret, to: encrypt(keys, PURPOSE, plain) })) reencrypted += 1;
  }
  return { reencrypted, lost };
}

/** False if it was replaced or removed since it was read. */
async function replaceSecret(db: Database, { userId, from, to }: { userId: string; from: string; to: string }) {
  const { numUpdatedRows } = await db
    .updateTable('authenticator_apps')
    .set({ secret: to })
    .where('user_id', '=', userId)
    .where('secret', '=', from)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

async function* readSecrets(db: Database) {
  const query = db.selectFrom('authenticator_apps').select(['user_id', 'secret']).orderBy('user_id').limit(BATCH);
  for (let rows = await query.execute(); rows.length > 0; ) {
    yield* rows;
    rows = await query.where('user_id', '>', rows.at(-1)?.user_id ?? '').execute();
  }
}
