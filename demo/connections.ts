import { type User, userActor } from '../src/accounts/users.ts';
import { type App, registerApp } from '../src/apps/apps.ts';
import { listSecrets, useSecret } from '../src/apps/secrets.ts';
import { type Actor, recordAudit } from '../src/audit/entries.ts';
import { saveConsent } from '../src/grants/consents.ts';
import { createGrant, findGrant, markExchanged, rotate } from '../src/grants/grants.ts';
import { DAY, HOUR, MINUTE } from '../src/lib/clock.ts';
import { newId, newRandomId } from '../src/lib/ids.ts';
import { addCounts, addScopeUses, type Counts, hourOf } from '../src/request-log/counts.ts';
import { addRequests, type NewRequest } from '../src/request-log/log.ts';
import type { Database } from '../src/storage/storage.ts';

/** What the app reads: the scopes with their routes and their share of the reads. */
const READS = [
  { scope: 'read:invoices', route: '/api/v1/accounting/invoices', share: 0.5 },
  { scope: 'read:contacts', route: '/api/v1/crm/contacts', share: 0.25 },
  { scope: 'read:orders', route: '/api/v1/ecommerce/orders', share: 0.25 },
];
const READ_SCOPES = READS.map(({ scope }) => scope);
const REGISTERED_AGO = 45 * DAY;
const LAST_REFRESH_AGO = 70 * MINUTE;

interface Connection {
  user: User;
  businessId: string;
  scopes: string[];
  /** How long ago it was allowed, in milliseconds. */
  since: number;
  /** The share of the app's reads that concerns this connection. */
  share: number;
}

/** Adds an app that was connected weeks ago, so that a new demo has connections and usage to show. */
export async function addDemoConnections(
  db: Database,
  { developer, ownerBusinessId, users }: { developer: User; ownerBusinessId: string; users: Users },
  now: number,
): Promise<void> {
  const app = await registerParcelwise(
    db,
    { developer, ownerBusinessId, lastUsedAt: now - LAST_REFRESH_AGO },
    now - REGISTERED_AGO,
  );
  const connections: Connection[] = [
    { ...users.developer, scopes: READ_SCOPES, since: REGISTERED_AGO - HOUR, share: 0.2 },
    { ...users.owner, scopes: [...READ_SCOPES, 'write:invoices'], since: 40 * DAY, share: 0.5 },
    { ...users.member, scopes: READ_SCOPES, since: 33 * DAY, share: 0.3 },
  ];
  for (const connection of connections) await connect(db, app, connection, now);
  const usages = connections.map(({ user, businessId, share }) => ({
    appId: app.id,
    userId: user.id,
    businessId,
    share,
  }));
  await addHistory(db, usages, now);
}

type Member = Pick<Connection, 'user' | 'businessId'>;
type Users = Record<'developer' | 'owner' | 'member', Member>;

async function registerParcelwise(
  db: Database,
  { developer, ownerBusinessId, lastUsedAt }: { developer: User; ownerBusinessId: string; lastUsedAt: number },
  at: number,
): Promise<App> {
  const settings = {
    name: 'Parcelwise',
    redirectUris: ['https://parcelwise.example/callback'],
    allowedScopes: [...READ_SCOPES, 'write:invoices'],
    openToAnyBusiness: true,
    requiresPkce: true,
  };
  const registered = await registerApp(browserActor(developer), db, { ...settings, ownerBusinessId }, at);
  if (!registered) throw new Error('The demo app Parcelwise could not be registered.');
  for (const { id } of await listSecrets(db, registered.app.id)) await useSecret(db, id, lastUsedAt);
  return registered.app;
}

async function connect(db: Database, app: App, connection: Connection, now: number): Promise<void> {
  const { user, businessId, scopes, since } = connection;
  const at = now - since;
  const parties = { appId: app.id, userId: user.id, businessId };
  const id = newId(at);
  await createGrant(
    db,
    {
      id,
      ...parties,
      connectedFor: 'user',
      scopes,
      expiresAt: null,
      resource: null,
      redirectUri: null,
      codeChallenge: null,
      stops: 0,
    },
    at,
  );
  await saveConsent(db, parties, { allowed: scopes, declined: [], expiresAt: null }, at);
  const subject = { kind: 'app', id: app.id, name: app.name } as const;
  const detail = { scope: scopes.join(' ') };
  await recordAudit(db, { action: 'grant.allowed', actor: browserActor(user), businessId, subject, detail }, at);
  await markExchanged(db, id, at);
  const grant = await findGrant(db, { grantId: id, rotation: 0 }, now);
  // Without refreshes the grant would have expired.
  if (grant) await rotate(db, { grant, spent: Math.floor(since / (2 * HOUR)) }, now - LAST_REFRESH_AGO);
}

/** The parties of a connection, and its share of the app's reads. */
interface Usage {
  appId: string;
  userId: string;
  businessId: string;
  share: number;
}

/** Thirty days of requests, up to the last full hour: counts, scope uses and log describe the same requests. */
async function addHistory(db: Database, connections: Usage[], now: number): Promise<void> {
  const [first] = connections;
  if (!first) return;
  const last = hourOf(now) - 1;
  const hours = Array.from({ length: 30 * 24 }, (_, index) => last - index).map((hour) => ({
    appId: first.appId,
    hour,
    ...countsOf(hour),
  }));
  await addCounts(db, hours);
  await addScopeUses(
    db,
    connections.flatMap((connection) => usesOf(connection, hours)),
  );
  const today = hours.slice(0, 24).flatMap((hour) => requestsOf(hour, connections));
  await addRequests(
    db,
    today.sort((a, b) => a.at - b.at),
  );
}

/** More by day than by night, fewer at weekends. Deterministic. */
function countsOf(hour: number): Counts {
  const [hourOfDay, day] = [hour % 24, Math.floor(hour / 24)];
  // 1 January 1970 was a Thursday.
  const isWeekend = [2, 3].includes(day % 7);
  const isDay = hourOfDay >= 7 && hourOfDay < 19;
  const refreshes = isDay ? 3 : 1;
  const reads = (isDay ? 6 + ((hour * 7) % 5) + (hourOfDay % 3) : 1 + (hour % 2)) * (isWeekend ? 1 : 2);
  const errors = hour % 17 === 0 ? 2 : hour % 7 === 0 ? 1 : 0;
  return { requests: reads + refreshes + errors, errors, refreshes };
}

function usesOf({ share, ...parties }: Usage, hours: ({ hour: number } & Counts)[]) {
  const byDay = Map.groupBy(hours, ({ hour }) => Math.floor((hour * HOUR) / DAY));
  return [...byDay.values()].flatMap((ofDay) => {
    const reads = ofDay.reduce((sum, { requests, errors, refreshes }) => sum + requests - errors - refreshes, 0);
    const lastAt = Math.max(...ofDay.map(({ hour }) => hour)) * HOUR + 50 * MINUTE;
    return READS.map((read) => ({
      ...parties,
      scope: read.scope,
      uses: Math.ceil(reads * share * read.share),
      lastAt,
    }));
  });
}

const READ_REQUEST = {
  method: 'GET',
  route: '/api/v1/accounting/invoices',
  grantType: null,
  status: 200,
  reason: null,
};
const REFRESH_REQUEST = { ...READ_REQUEST, method: 'POST', route: '/api/v1/oauth/token', grantType: 'refresh_token' };
/** Two of four reads are of invoices. */
const READ_PATTERN = [0, 1, 0, 2];
const FAILED_REQUESTS = [
  { ...READ_REQUEST, status: 401, reason: 'access_token_expired' },
  { ...READ_REQUEST, status: 403, reason: 'business_mismatch' },
];

function requestsOf({ hour, ...counts }: { hour: number } & Counts, connections: Usage[]): NewRequest[] {
  const { requests, errors, refreshes } = counts;
  return Array.from({ length: requests }, (_, index) => {
    const { appId, businessId } = connections[(hour + index) % connections.length] as Usage;
    const isFailed = index >= requests - errors;
    const request =
      index < refreshes
        ? REFRESH_REQUEST
        : isFailed
          ? (FAILED_REQUESTS[(hour + index) % 2] ?? READ_REQUEST)
          : { ...READ_REQUEST, route: (READS[READ_PATTERN[index % READ_PATTERN.length] ?? 0] ?? READ_REQUEST).route };
    const at = hour * HOUR + Math.floor((index * 50 * MINUTE) / requests) + ((index * 7919) % MINUTE);
    const took = request.status >= 400 ? 2 : 6 + ((index * 5) % 9);
    return { ...request, appId, businessId, at, requestId: newRandomId(), took };
  });
}

/** A user in a browser, with an address from a range for documentation (RFC 5737). */
export function browserActor(user: User): Actor {
  return userActor(user, '203.0.113.24');
}
