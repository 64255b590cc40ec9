import { encryptionKeyId, type Keyring } from '../lib/keyring.ts';
import type { Database } from '../storage/storage.ts';
import { reencrypt } from './endpoint-secrets.ts';
import { storeReencrypted } from './endpoints.ts';

const BATCH = 500;

/** How many endpoints have a secret that is encrypted with each key, by the key's id in hex. */
export async function countEndpointsByKey(db: Database): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const { secret, old_secret } of readSecrets(db)) {
    const ids = new Set(
      [secret, old_secret].flatMap((text) => (text === null ? [] : encryptionKeyId(text).toString('hex'))),
    );
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** Encrypts every secret with the first key. `lost` are the endpoints whose secret cannot be decrypted: its key is gone. */
export async function reencryptEndpoints(
  db: Database,
  keys: Keyring,
): Promise<{ reencrypted: number; lost: string[] }> {
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
