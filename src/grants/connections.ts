import { mayChangeBusiness } from '../accounts/memberships.ts';
import { type App, listAppsById } from '../apps/apps.ts';
import { type Actor, recordAudit } from '../audit/entries.ts';
import type { InactiveReason } from '../http/errors.ts';
import { DAY } from '../lib/clock.ts';
import type { Scopes } from '../lib/scope-lists.ts';
import { listScopeUses } from '../request-log/counts.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import type { Database } from '../storage/storage.ts';
import { inTransaction, pipelineWrites } from '../storage/storage.ts';
import { countConnectedUsers } from './connected-users.ts';
import {
  type ConnectionFilter,
  type ConnectionKey,
  type ConnectionRow,
  listConnectionKeys,
  listConnectionRows,
  sortKeyOf,
} from './connection-rows.ts';
import { forgetConsents } from './consents.ts';
import { formatCount } from './counts.ts';
import { requestFollowUp } from './follow-ups.ts';
import { revokeConnection } from './revocation.ts';
import { type GrantParties, wasGranted } from './status.ts';
import { stop } from './stops.ts';

/** An app with access for a user in a business, or with a saved consent to get it without a consent screen. */
export interface Connection {
  app: App;
  /** The business that registered the app; undefined for an app of the platform. */
  ownerBusiness: Named | undefined;
  user: Named;
  business: Named;
  /** `business` if at least one of its grants is, or its consent. */
  connectedFor: ConnectedFor;
  scopes: Scopes;
  since: number;
  /** When it ends, unless the user allows the app again; null if only a disconnect ends it. */
  expiresAt: number | null;
  /** When it last used a scope, within the last 30 days. Null also in lists that do not load usage. */
  lastUsedAt: number | null;
  /** When it last exchanged a code or refreshed. */
  tokensFetchedAt: number | null;
  /** False if there is only a consent, and no grant with tokens. */
  isLive: boolean;
  /** How often it used each scope in the last 30 days. */
  uses: Map<string, number>;
  /** The scope that it used last. */
  lastScope: string | undefined;
  /** The MCP servers that its tokens are for, if it is an AI assistant. */
  resources: string[];
}

export interface Named {
  id: string;
  name: string;
}

const USAGE_PERIOD = 30 * DAY;

export async function listConnections(db: Database, filter: ConnectionFilter, now: number): Promise<Connection[]> {
  const keys = await listConnectionKeys(db, filter, now);
  if (keys.length === 0) return [];
  const among = {
    appIds: distinct(keys.map(({ appId }) => appId)),
    businessIds: distinct(keys.map(({ businessId }) => businessId)),
    userIds: distinct(keys.map(({ userId }) => userId)),
  };
  const rows = Map.groupBy(await listConnectionRows(db, keys, now), sortKeyOf);
  const uses = Map.groupBy(await listUses(db, among, now), sortKeyOf);
  const parties = await loadParties(db, among);
  return keys.flatMap((key) => {
    const found = parties(key);
    const own = rows.get(sortKeyOf(key));
    // Without those that were disconnected between the two queries.
    return found && own ? [{ ...found, ...summarise(own, uses.get(sortKeyOf(key)) ?? [], found.app) }] : [];
  });
}

type Use = Awaited<ReturnType<typeof listUses>>[number];

function summarise(rows: ConnectionRow[], used: Use[], app: App) {
  const [newest] = used.toSorted((a, b) => b.lastAt - a.lastAt);
  return {
    connectedFor: rows.some(({ connectedFor }) => connectedFor === 'business')
      ? ('business' as const)
      : ('user' as const),
    scopes: app.allowedScopes.filter((name) => rows.some(({ scopes }) => scopes.includes(name))),
    since: Math.min(...rows.map(({ since }) => since)),
    expiresAt: lastEnd(rows.map(({ expiresAt }) => expiresAt)),
    lastUsedAt: newest?.lastAt ?? null,
    lastScope: newest?.scope,
    resources: distinct(rows.flatMap(({ resource }) => resource ?? [])).sort(),
    tokensFetchedAt: latest(rows.map(({ fetchedAt }) => fetchedAt ?? 0)),
    isLive: rows.some(({ isLive }) => isLive),
    uses: new Map(used.map(({ scope, uses }) => [scope, uses])),
  };
}

/** Null if one of them has no end. */
function lastEnd(ends: (number | null)[]): number | null {
  return ends.includes(null) ? null : latest(ends.map((end) => end ?? 0));
}

function latest(times: number[]): number | null {
  return Math.max(0, ...times) || null;
}

interface ConnectionIds {
  appIds: string[];
  businessIds: string[];
  userIds: string[];
}

/** Only for lists of one business: the index of the table begins with it. */
async function listUses(db: Database, { businessIds, ...among }: ConnectionIds, now: number) {
  const [businessId, ...others] = businessIds;
  if (businessId === undefined || others.length > 0) return [];
  const uses = await listScopeUses(db, { businessId, among }, now - USAGE_PERIOD);
  return uses.map((use) => ({ ...use, businessId }));
}

async function loadParties(db: Database, { appIds, businessIds, userIds }: ConnectionIds) {
  const named = (table: 'users' | 'businesses', ids: string[]) =>
    db.selectFrom(table).select(['id', 'name']).where('id', 'in', ids).execute();
  const apps = byId(await listAppsById(db, appIds));
  const users = byId(await named('users', userIds));
  const ownerIds = [...apps.values()].flatMap(({ ownerBusinessId }) => ownerBusinessId ?? []);
  const businesses = byId(await named('businesses', distinct([...businessIds, ...ownerIds])));
  return ({ appId, userId, businessId }: ConnectionKey) => {
    const [app, user, business] = [apps.get(appId), users.get(userId), businesses.get(businessId)];
    if (!app || !user || !business) return undefined;
    return { app, user, business, ownerBusiness: businesses.get(app.ownerBusinessId ?? '') };
  };
}

function byId<Item extends { id: string }>(items: Item[]): Map<string, Item> {
  return new Map(items.map((item) => [item.id, item]));
}

function distinct(ids: string[]): string[] {
  return [...new Set(ids)];
}

interface Disconnect {
  app: App;
  businessId: string;
  /** Undefined for everyone in the business. */
  user?: Named | undefined;
}

/**
 * Ends every token at once and deletes the consent. False if the app was never connected, or if an actor who is not an
 * owner ends it for everyone. A repeat changes nothing.
 */
export async function disconnect(
  actor: Actor,
  db: Database,
  { app, businessId, user }: Disconnect,
  now: number,
): Promise<boolean> {
  if (!user) return disconnectEveryone(actor, db, { app, businessId }, now);
  const reason = user.id === actor.id ? 'disconnected_by_user' : 'disconnected_by_owner';
  return inTransaction(db, async (tx) => {
    const people = await endConnection(tx, { appId: app.id, businessId, userId: user.id }, reason, now);
    if (!people) return people !== undefined;
    await recordDisconnect(actor, tx, { app, businessId, detail: { user: user.name } }, now);
    return true;
  });
}

async function disconnectEveryone(
  actor: Actor,
  db: Database,
  { app, businessId }: Disconnect,
  now: number,
): Promise<boolean> {
  const pair = { appId: app.id, businessId };
  // Before the transaction, for which others wait.
  const counted = await countConnectedUsers(db, pair, now);
  return inTransaction(db, async (tx) => {
    // A transfer locks the owners, too. Not the business: on PostgreSQL, Allows share its lock, and overtake who waits for it alone.
    if (!(await mayChangeBusiness(actor, tx, businessId))) return false;
    if (counted.users === 0 && !counted.isPart) return wasGranted(tx, pair);
    await endForEveryone(tx, pair, 'disconnected_by_owner', now);
    const detail = { user: 'everyone', people: formatCount(counted.users, counted) };
    await recordDisconnect(actor, tx, { app, businessId, detail }, now);
    return true;
  });
}

async function recordDisconnect(
  actor: Actor,
  tx: Database,
  { app, businessId, detail }: Disconnect & { detail: Record<string, string> },
  now: number,
): Promise<void> {
  const subject = { kind: 'app', id: app.id, name: app.name } as const;
  const entry = { action: 'grant.disconnected', actor, businessId, subject, detail } as const;
  await pipelineWrites(tx, [recordAudit(tx, entry, now)]);
}

/** Needs a transaction. However many users are connected, it is one counter, and a follow-up does the rest. */
export async function endForEveryone(
  tx: Database,
  { appId, businessId }: Omit<GrantParties, 'userId'>,
  reason: InactiveReason,
  now: number,
): Promise<void> {
  await stop(tx, { appId, businessId }, reason, now);
  await requestFollowUp(tx, { kind: 'end', appId, businessId, reason }, now);
}

/** Needs a transaction. Returns 1 if the user was connected; undefined if they never were. */
export async function endConnection(
  tx: Database,
  parties: Required<GrantParties>,
  reason: InactiveReason,
  now: number,
): Promise<number | undefined> {
  // In this order: a grant that relies on the consent is either revoked here, or waits and finds no consent.
  const ended = [forgetConsents(tx, parties), revokeConnection(tx, parties, reason, now)];
  const [forgotten = [], revoked = []] = await Promise.all(ended);
  const people = new Set([...forgotten, ...revoked]).size;
  return people > 0 || (await wasGranted(tx, parties)) ? people : undefined;
}
