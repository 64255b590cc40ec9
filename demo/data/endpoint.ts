import { findApp } from '../../src/apps/apps.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import type { Keyring } from '../../src/lib/keyring.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { eventsDetail, recordEndpointAct } from '../../src/webhooks/endpoint-acts.ts';
import { CHOICES } from '../../src/webhooks/endpoint-fields.ts';
import { addEndpoint, listEndpoints, replaceSecret } from '../../src/webhooks/endpoints.ts';

/** Where a demo app hears of what happens. Gives its signing secret, which is a new one at every start. */
export function ensureDemoEndpoint(
  storage: Storage,
  keys: Keyring,
  { appId, url }: { appId: string; url: string },
  now: number,
): Promise<string> {
  return storage.transaction(async (db) => {
    const known = (await listEndpoints(db, appId)).find((endpoint) => endpoint.url === url);
    if (known) return replaceSecret(db, keys, known, now);
    const added = await addEndpoint(db, keys, { appId, url, eventTypes: [...CHOICES] }, now);
    const app = await findApp(db, appId);
    const { endpoint } = added;
    const act = { actor: OPERATOR, endpoint, detail: eventsDetail(endpoint) };
    if (app) await recordEndpointAct(db, { action: 'endpoint.added', app, ...act }, now);
    return added.secret;
  });
}
