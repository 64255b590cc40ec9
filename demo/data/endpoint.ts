import { findApp } from '../../src/apps/apps.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { type Keyring } from '../../src/lib/keyring.ts';
import { type Storage } from '../../src/storage/storage.ts';
import { addEndpoint } from '../../src/webhooks/endpoint-changes.ts';
import { SUBSCRIBABLE_EVENTS, listEndpoints, rotateSecret } from '../../src/webhooks/endpoints.ts';

/** Registers the webhook endpoint of a demo app. Returns its signing secret, which is new at every start. */
export function ensureDemoEndpoint(
  storage: Storage,
  keys: Keyring,
  { appId, url }: { appId: string; url: string },
  now: number,
): Promise<string> {
  return storage.transaction(async (db) => {
    const known = (await listEndpoints(db, appId)).find((endpoint) => endpoint.url === url);
    if (known) return rotateSecret(db, keys, known, now);
    const app = await findApp(db, appId);
    const added = app && (await addEndpoint(OPERATOR, { db, keys }, { app, url, eventTypes: [...SUBSCRIBABLE_EVENTS] }, now));
    if (!added) throw new Error('The demo endpoint could not be added.');
    return added.secret;
  });
}
