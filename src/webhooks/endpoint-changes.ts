import type { AuditedApp } from '../apps/app-audit.ts';
import { lockApp } from '../apps/apps.ts';
import { type Action, type Actor, recordAudit } from '../audit/entries.ts';
import type { Keyring } from '../lib/keyring.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { switchEndpointOff } from './endpoint-notices.ts';
import {
  deleteEndpoint,
  type Endpoint,
  findEndpoint,
  insertEndpoint,
  markEndpointEnabled,
  rotateFingerprintedSecret,
  rotateSecret,
  SUBSCRIBABLE_EVENTS,
  updateEndpoint,
} from './endpoints.ts';

interface EndpointOfApp {
  app: AuditedApp;
  endpoint: Pick<Endpoint, 'id' | 'url'>;
}

interface EndpointSettings {
  url: string;
  eventTypes: string[];
}

interface EndpointWithSecret {
  endpoint: Endpoint;
  secret: string;
}

interface Deps {
  db: Database;
  keys: Keyring;
}

/** Undefined if an endpoint with this id exists already. */
export async function addEndpoint(
  actor: Actor,
  { db, keys }: Deps,
  { app, ...settings }: EndpointSettings & { app: AuditedApp; id?: string },
  now: number,
): Promise<EndpointWithSecret | undefined> {
  return inTransaction(db, async (tx) => {
    await lockApp(tx, app.id);
    if (settings.id && (await findEndpoint(tx, app.id, settings.id))) return undefined;
    const added = await insertEndpoint(tx, keys, { appId: app.id, ...settings }, now);
    await record(actor, tx, { action: 'endpoint.added', app, endpoint: added.endpoint, detail: eventsOf(added) }, now);
    return added;
  });
}

/** Undefined if the endpoint was removed in the meantime. */
export async function changeEndpoint(
  actor: Actor,
  db: Database,
  { app, endpoint: { id }, settings }: EndpointOfApp & { settings: EndpointSettings },
  now: number,
): Promise<Endpoint | undefined> {
  return inTransaction(db, async (tx) => {
    const endpoint = await updateEndpoint(tx, { appId: app.id, id }, settings);
    if (!endpoint) return undefined;
    await record(actor, tx, { action: 'endpoint.changed', app, endpoint, detail: eventsOf({ endpoint }) }, now);
    return endpoint;
  });
}

/** With a fingerprint, only if it is that of the current secret; otherwise undefined. */
export async function replaceSecret(
  actor: Actor,
  { db, keys }: Deps,
  { app, endpoint: { id }, fingerprint }: EndpointOfApp & { fingerprint?: string },
  now: number,
): Promise<EndpointWithSecret | undefined> {
  return inTransaction(db, async (tx) => {
    const secret =
      fingerprint === undefined
        ? await rotateSecret(tx, keys, { id }, now)
        : await rotateFingerprintedSecret(tx, keys, { id, fingerprint }, now);
    const endpoint = await findEndpoint(tx, app.id, id);
    if (secret === undefined || !endpoint) return undefined;
    await record(actor, tx, { action: 'endpoint.secret_replaced', app, endpoint }, now);
    return { endpoint, secret };
  });
}

/** Events wait until the endpoint is enabled again. False if it was disabled already. */
export async function disableEndpoint(actor: Actor, db: Database, on: EndpointOfApp, now: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const isChange = await switchEndpointOff(tx, on.endpoint.id, 'by_owner', now);
    if (isChange) await record(actor, tx, { action: 'endpoint.disabled', ...on }, now);
    return isChange;
  });
}

export async function enableEndpoint(actor: Actor, db: Database, on: EndpointOfApp, now: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const isChange = await markEndpointEnabled(tx, on.endpoint.id, now);
    if (isChange) await record(actor, tx, { action: 'endpoint.enabled', ...on }, now);
    return isChange;
  });
}

export async function removeEndpoint(actor: Actor, db: Database, on: EndpointOfApp, now: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const isChange = await deleteEndpoint(tx, on.app.id, on.endpoint.id);
    if (isChange) await record(actor, tx, { action: 'endpoint.removed', ...on }, now);
    return isChange;
  });
}

interface EndpointAuditEntry extends EndpointOfApp {
  action: Extract<Action, `endpoint.${string}`>;
  detail?: Record<string, string>;
}

/** Visible to the owners of the app's business. Names the host only: the path of a webhook URL is often a secret. */
async function record(
  actor: Actor,
  db: Database,
  { action, app, endpoint, detail = {} }: EndpointAuditEntry,
  now: number,
): Promise<void> {
  const subject = { kind: 'endpoint', id: endpoint.id, name: new URL(endpoint.url).host } as const;
  const entry = { action, actor, businessId: app.ownerBusinessId, subject, detail: { app: app.name, ...detail } };
  await recordAudit(db, entry, now);
}

function eventsOf({ endpoint }: { endpoint: Pick<Endpoint, 'eventTypes'> }): Record<string, string> {
  const isAll = endpoint.eventTypes.length === SUBSCRIBABLE_EVENTS.length;
  return { events: isAll ? 'all' : endpoint.eventTypes.join(', ') };
}
