import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { addBusiness, type Business } from '../src/accounts/businesses.ts';
import { addUser } from '../src/accounts/joining.ts';
import { insertMembership, listMemberships, type Role } from '../src/accounts/memberships.ts';
import type { NewUser } from '../src/accounts/new-users.ts';
import {
  auditedUser,
  findCredentialsByEmail,
  findUserByEmail,
  markSignedIn,
  type User,
} from '../src/accounts/users.ts';
import { findApp, registerApp } from '../src/apps/apps.ts';
import { type Actor, OPERATOR, recordAudit } from '../src/audit/entries.ts';
import { DAY, HOUR, MINUTE } from '../src/lib/clock.ts';
import type { Keyring } from '../src/lib/keyring.ts';
import type { Database, Storage } from '../src/storage/storage.ts';
import { addEndpoint } from '../src/webhooks/endpoint-changes.ts';
import { listEndpoints, rotateSecret, SUBSCRIBABLE_EVENTS } from '../src/webhooks/endpoints.ts';
import { HARBOUR, NORTHGATE } from './businesses.ts';
import { addDemoConnections, browserActor } from './connections.ts';
import { addDemoIdentity } from './identity.ts';
import { addDemoRecords } from './records.ts';

export const DEMO_PASSWORD = 'over the drawbridge';
export const DEMO_USERS = {
  owner: { email: 'olivia@harbour.example', name: 'Olivia Marsh', isPlatformAdmin: false },
  member: { email: 'sam@harbour.example', name: 'Sam Okafor', isPlatformAdmin: false },
  admin: { email: 'priya@platform.example', name: 'Priya Nair', isPlatformAdmin: true },
};

/** Stored in a file that the demo apps read. */
export interface DemoCredentials {
  thirdParty: { clientId: string; clientSecret: string };
  firstParty: { clientId: string; clientSecret: string };
}

/** Returns the id of the business that owns the third-party demo app. */
export async function ensureDemoData(storage: Storage, now: number): Promise<string> {
  const developer = await findUserByEmail(storage.durable, DEMO_USERS.admin.email);
  const [membership] = developer ? await listMemberships(storage.durable, developer.id) : [];
  return membership?.businessId ?? storage.transaction((db) => addDemoData(db, now));
}

/** Reads the credentials of an earlier start; registers the apps again if the file or an app is missing. */
export async function ensureDemoApps(storage: Storage, ownerBusinessId: string, file: string, now: number) {
  const known: DemoCredentials | undefined = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  const find = (app: { clientId: string }) => findApp(storage.durable, app.clientId);
  if (known && (await find(known.thirdParty)) && (await find(known.firstParty))) return known;
  const credentials = await storage.transaction(async (db) => {
    const thirdParty = await addDemoApp(db, { name: 'Ledgerly', ownerBusinessId, openToAnyBusiness: true }, now);
    await addDemoIdentity(db, thirdParty.clientId, now);
    const workbench = { name: 'Workbench', ownerBusinessId: null, openToAnyBusiness: false };
    return { thirdParty, firstParty: await addDemoApp(db, workbench, now) };
  });
  writeFileSync(file, JSON.stringify(credentials, null, 2), { mode: 0o600 });
  return credentials;
}

async function addDemoData(db: Database, now: number): Promise<string> {
  const { harbour, northgate, owner, member, admin } = await addDemoUsers(db, now);
  const users = {
    developer: { user: admin, businessId: northgate.id },
    owner: { user: owner, businessId: harbour.id },
    member: { user: member, businessId: harbour.id },
  };
  await markDemoSignIns(db, [admin, owner, member], now);
  await addDemoConnections(db, { developer: admin, ownerBusinessId: northgate.id, users }, now);
  await addDemoRecords(db, harbour, HARBOUR, now);
  await addDemoRecords(db, northgate, NORTHGATE, now);
  return northgate.id;
}

/** One after the other, each an hour earlier. */
async function markDemoSignIns(db: Database, users: User[], now: number): Promise<void> {
  for (const [i, { email }] of users.entries()) {
    const credentials = await findCredentialsByEmail(db, email);
    if (credentials) await markSignedIn(db, credentials, now - (i + 1) * HOUR);
  }
}

async function addDemoApp(
  db: Database,
  app: { name: string; ownerBusinessId: string | null; openToAnyBusiness: boolean },
  now: number,
) {
  const settings = {
    ...app,
    // RFC 8252 §7.3: on a loopback address any port matches.
    redirectUris: ['http://127.0.0.1/callback'],
    allowedScopes: ['read:invoices', 'read:contacts'],
    requiresPkce: true,
  };
  const registered = await registerApp(OPERATOR, db, settings, now);
  if (!registered) throw new Error(`The demo app ${app.name} could not be registered.`);
  return { clientId: registered.app.id, clientSecret: registered.secret ?? '' };
}

/** Two businesses and their members, created 60 days ago. Their records are older. */
async function addDemoUsers(db: Database, now: number) {
  const start = now - 60 * DAY;
  const harbour = await addBusiness(OPERATOR, db, { name: 'Harbour Coffee' }, start);
  const northgate = await addBusiness(OPERATOR, db, { name: 'Northgate Software' }, start);
  const add = (user: Omit<NewUser, 'password'>, at: number) =>
    addUser(OPERATOR, db, { ...user, password: DEMO_PASSWORD }, at);
  const owner = await add(DEMO_USERS.owner, start);
  const admin = await add(DEMO_USERS.admin, start);
  const member = await add(DEMO_USERS.member, start + 4 * DAY);
  await addMembership(db, { user: owner, business: harbour, role: 'owner', by: OPERATOR }, start + MINUTE);
  await addMembership(db, { user: admin, business: northgate, role: 'owner', by: OPERATOR }, start + MINUTE);
  await addMembership(
    db,
    { user: member, business: harbour, role: 'member', by: browserActor(member) },
    start + 4 * DAY,
  );
  await addMembership(
    db,
    { user: member, business: northgate, role: 'member', by: browserActor(member) },
    start + 9 * DAY,
  );
  return { harbour, northgate, owner, member, admin };
}

async function addMembership(
  db: Database,
  { user, business, role, by }: { user: User; business: Business; role: Role; by: Actor },
  at: number,
): Promise<void> {
  await insertMembership(db, { userId: user.id, businessId: business.id, role }, at);
  const action = by === OPERATOR ? 'member.added' : 'member.joined';
  const subject = auditedUser(user);
  await recordAudit(db, { action, actor: by, businessId: business.id, subject, detail: { role } }, at);
}

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
    const added =
      app && (await addEndpoint(OPERATOR, { db, keys }, { app, url, eventTypes: [...SUBSCRIBABLE_EVENTS] }, now));
    if (!added) throw new Error('The demo endpoint could not be added.');
    return added.secret;
  });
}
