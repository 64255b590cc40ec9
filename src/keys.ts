import { countAuthenticatorsByKey, reencryptAuthenticators } from './accounts/authenticator-apps.ts';
import { type Action, type Actor, recordAudit } from './audit/entries.ts';
import { idsOf, type Keyring } from './lib/keyring.ts';
import { addKnownKeys, removeKnownKeys } from './storage/known-keys.ts';
import { type Database, inTransaction } from './storage/storage.ts';
import { countEndpointsByKey, reencryptEndpoints } from './webhooks/reencryption.ts';

/** How many secrets of each kind are encrypted with each key, by the key's id in hex. */
export async function countSecretsByKey(db: Database) {
  return { endpoints: await countEndpointsByKey(db), authenticators: await countAuthenticatorsByKey(db) };
}

type KeyAction = Extract<Action, `key.${string}`>;

interface KeyChange {
  action: KeyAction;
  id: string;
  /** The ids of all keys, before and after it. */
  from: readonly string[];
  to: readonly string[];
}

export function recordKeyChange(
  actor: Actor,
  db: Database,
  { action, id, from, to }: KeyChange,
  now: number,
): Promise<void> {
  return inTransaction(db, async (tx) => {
    await addKnownKeys(tx, to, now);
    await removeKnownKeys(
      tx,
      from.filter((each) => !to.includes(each)),
    );
    await recordKeyAudit(tx, { action, actor, id, detail: {} }, now);
  });
}

/**
 * Encrypts every signing secret of an endpoint and every secret of an authenticator app with the first key. Lost are those
 * that cannot be decrypted: their key is gone.
 */
export function reencryptSecrets(actor: Actor, db: Database, keys: Keyring, now: number) {
  return inTransaction(db, async (tx) => {
    const endpoints = await reencryptEndpoints(tx, keys);
    const authenticators = await reencryptAuthenticators(tx, keys);
    const [id = ''] = idsOf(keys);
    const detail = { endpoints: String(endpoints.reencrypted), authenticator_apps: String(authenticators.reencrypted) };
    const reencrypted = endpoints.reencrypted + authenticators.reencrypted;
    if (reencrypted > 0) await recordKeyAudit(tx, { action: 'key.resealed', actor, id, detail }, now);
    return { reencrypted, lostEndpoints: endpoints.lost, lostAuthenticators: authenticators.lost };
  });
}

function recordKeyAudit(
  db: Database,
  { action, actor, id, detail }: { action: KeyAction; actor: Actor; id: string; detail: Record<string, string> },
  now: number,
): Promise<void> {
  return recordAudit(db, { action, actor, businessId: null, subject: { kind: 'key', id, name: id }, detail }, now);
}
