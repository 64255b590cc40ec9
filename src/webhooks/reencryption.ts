import { countAuthenticatorsByKey, reencryptAuthenticators } from '../accounts/authenticator-apps.ts';
import { type Action, type Actor, recordAudit } from '../audit/entries.ts';
import { encryptionKeyId, type Keyring } from '../lib/keyring.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { reencrypt } from './endpoint-secrets.ts';
import { storeReencrypted } from './endpoints.ts';

const BATCH = 500;

/** How many secrets of each kind are encrypted with each key, by the key's id in hex. */
export async function countSecretsByKey(db: Database) {
  return { endpoints: await countEndpointsByKey(db), apps: await countAuthenticatorsByKey(db) };
}

async function countEndpointsByKey(db: Database): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const { secret, old_secret } of readSecrets(db)) {
    const ids = new Set(
      [secret, old_secret].flatMap((text) => (text === null ? [] : encryptionKeyId(text).toString('hex'))),
    );
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

type KeyAction = Extract<Action, `key.${string}`>;

/** `write` changes the key file inside the transaction: if it throws, no audit entry is kept. */
export function changeKeys(
  actor: Actor,
  db: Database,
  { action, id, write }: { action: KeyAction; id: string; write: () => void },
  now: number,
): Promise<void> {
  return inTransaction(db, async (tx) => {
    await recordKeyAudit(tx, { action, actor, id, detail: {} }, now);
    write();
  });
}

/**
 * Encrypts every signing secret of an endpoint and every secret of an authenticator app with the first key. Lost are those
 * that cannot be decrypted: their key is gone.
 */
export function reencryptSecrets(actor: Actor, db: Database, keys: Keyring, now: number) {
  return inTransaction(db, async (tx) => {
    const endpoints = await reencryptAll(tx, keys);
    const apps = await reencryptAuthenticators(tx, keys);
    const id = keys.signing.id.toString('hex');
    const detail = { endpoints: String(endpoints.reencrypted), authenticator_apps: String(apps.reencrypted) };
    const reencrypted = endpoints.reencrypted + apps.reencrypted;
    if (reencrypted > 0) await recordKeyAudit(tx, { action: 'key.resealed', actor, id, detail }, now);
    return { reencrypted, lostEndpoints: endpoints.lost, lostApps: apps.lost };
  });
}

function recordKeyAudit(
  db: Database,
  { action, actor, id, detail }: { action: KeyAction; actor: Actor; id: string; detail: Record<string, string> },
  now: number,
): Promise<void> {
  return recordAudit(db, { action, actor, businessId: null, subject: { kind: 'key', id, name: id }, detail }, now);
}

async function reencryptAll(db: Database, keys: Keyring): Promise<{ reencrypted: number; lost: string[] }> {
  const isOutdated = (text: string | null) => text !== null && !encryptionKeyId(text).equals(keys.signing.id);
  let reencrypted = 0;
  const lost: string[] = [];
  for await (const { id, secret, old_secret } of readSecrets(db)) {
    if (!isOutdated(secret) && !isOutdated(old_secret)) continue;
    const fresh = reencrypt(keys, secret);
    if (fresh === undefined) lost.push(id);
    const old = old_secret === null ? null : (reencrypt(keys, old_secret) ?? old_secret);
    const to = { secret: fresh ?? secret, old_secret: old };
    if ((await storeReencrypted(db, { id, from: secret, to })) && fresh !== undefined) reencrypted += 1;
  }
  return { reencrypted, lost };
}

async function* readSecrets(db: Database) {
  const query = db.selectFrom('endpoints').select(['id', 'secret', 'old_secret']).orderBy('id').limit(BATCH);
  for (let rows = await query.execute(); rows.length > 0; ) {
    yield* rows;
    rows = await query.where('id', '>', rows.at(-1)?.id ?? '').execute();
  }
}
