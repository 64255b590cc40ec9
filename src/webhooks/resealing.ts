import { encryptionKeyId, type Keyring } from '../lib/keyring.ts';
import type { Database } from '../storage/storage.ts';
import { concealAnew } from './endpoint-secrets.ts';
import { storeConcealed } from './endpoints.ts';

const AT_ONCE = 500;

/** How many endpoints keep a secret under each key, by the key's id in hex. */
export async function countSecretsByKey(db: Database): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const { secret, old_secret } of readSecrets(db)) {
    const ids = new Set(
      [secret, old_secret].flatMap((text) => (text === null ? [] : encryptionKeyId(text).toString('hex'))),
    );
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/**
 * Conceals every signing secret with the first key, so that the others can go. Needs a transaction. Says how many
 * endpoints it was done for, and whose secret nothing can bring back, since its key is gone.
 */
export async function resealSecrets(db: Database, keys: Keyring): Promise<{ resealed: number; lost: string[] }> {
  const isOutdated = (text: string | null) => text !== null && !encryptionKeyId(text).equals(keys.signing.id);
  let resealed = 0;
  const lost: string[] = [];
  for await (const { id, secret, old_secret } of readSecrets(db)) {
    if (!isOutdated(secret) && !isOutdated(old_secret)) continue;
    const fresh = concealAnew(keys, secret);
    if (fresh === undefined) lost.push(id);
    const old = old_secret === null ? null : (concealAnew(keys, old_secret) ?? old_secret);
    const to = { secret: fresh ?? secret, old_secret: old };
    if ((await storeConcealed(db, { id, from: secret, to })) && fresh !== undefined) resealed += 1;
  }
  return { resealed, lost };
}

async function* readSecrets(db: Database) {
  const query = db.selectFrom('endpoints').select(['id', 'secret', 'old_secret']).orderBy('id').limit(AT_ONCE);
  for (let rows = await query.execute(); rows.length > 0; ) {
    yield* rows;
    rows = await query.where('id', '>', rows.at(-1)?.id ?? '').execute();
  }
}
