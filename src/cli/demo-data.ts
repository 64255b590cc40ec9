import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { addInvoice, STATUSES } from '../accounting/invoices.ts';
import { addBusiness, type Business } from '../accounts/businesses.ts';
import { addMember, listMemberships } from '../accounts/memberships.ts';
import { addUser, findUserByEmail, type NewUser } from '../accounts/users.ts';
import { findApp, registerApp } from '../apps/apps.ts';
import { DAY } from '../lib/clock.ts';
import { readScopes } from '../oauth/scopes.ts';
import type { Database, Storage } from '../storage/storage.ts';
import { addDemoConnections } from './demo-connections.ts';

/** The two demo apps know their own secrets, as any app does: in a file that only they read. */
export interface DemoCredentials {
  thirdParty: { clientId: string; clientSecret: string };
  firstParty: { clientId: string; clientSecret: string };
}

export const DEMO_PASSWORD = 'over the drawbridge';
export const DEMO_USERS = {
  owner: { email: 'olivia@harbour.example', name: 'Olivia Marsh', isPlatformAdmin: false },
  member: { email: 'sam@harbour.example', name: 'Sam Okafor', isPlatformAdmin: false },
  admin: { email: 'priya@platform.example', name: 'Priya Nair', isPlatformAdmin: true },
};

/** Returns the business that makes the third-party demo app. */
export async function ensureDemoData(storage: Storage, now: number): Promise<string> {
  const maker = await findUserByEmail(storage.durable, DEMO_USERS.admin.email);
  const [membership] = maker ? await listMemberships(storage.durable, maker.id) : [];
  return membership?.businessId ?? storage.atomically((db) => addDemoData(db, now));
}

/** Found again at the second start; made anew if the file or the apps are gone. */
export async function ensureDemoApps(storage: Storage, ownerBusinessId: string, file: string, now: number) {
  const known: DemoCredentials | undefined = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  const find = (app: { clientId: string }) => findApp(storage.durable, app.clientId);
  if (known && (await find(known.thirdParty)) && (await find(known.firstParty))) return known;
  const credentials = await storage.atomically(async (db) => ({
    thirdParty: await addDemoApp(db, { name: 'Ledgerly', ownerBusinessId, openToAnyBusiness: true }, now),
    firstParty: await addDemoApp(db, { name: 'Workbench', ownerBusinessId: null, openToAnyBusiness: false }, now),
  }));
  writeFileSync(file, JSON.stringify(credentials, null, 2), { mode: 0o600 });
  return credentials;
}

async function addDemoData(db: Database, now: number): Promise<string> {
  const harbour = await addBusiness(db, { name: 'Harbour Coffee' }, now);
  const northgate = await addBusiness(db, { name: 'Northgate Software' }, now);
  const add = (user: Omit<NewUser, 'password'>) => addUser(db, { ...user, password: DEMO_PASSWORD }, now);
  const owner = await add(DEMO_USERS.owner);
  const member = await add(DEMO_USERS.member);
  const admin = await add(DEMO_USERS.admin);
  await addMember(db, { userId: owner.id, businessId: harbour.id, role: 'owner' }, now);
  await addMember(db, { userId: member.id, businessId: harbour.id, role: 'member' }, now);
  await addMember(db, { userId: member.id, businessId: northgate.id, role: 'member' }, now);
  await addMember(db, { userId: admin.id, businessId: northgate.id, role: 'owner' }, now);
  const connected = [
    { user: owner, businessId: harbour.id },
    { user: member, businessId: harbour.id },
    { user: admin, businessId: northgate.id },
  ];
  await addDemoConnections(db, { ownerBusinessId: northgate.id, connected }, now);
  await addDemoInvoices(db, harbour, { prefix: 'HC', count: 36, currency: 'GBP' }, now);
  await addDemoInvoices(db, northgate, { prefix: 'NS', count: 18, currency: 'EUR' }, now);
  return northgate.id;
}

async function addDemoInvoices(
  db: Database,
  business: Business,
  { prefix, count, currency }: { prefix: string; count: number; currency: string },
  now: number,
): Promise<void> {
  for (let i = 1; i <= count; i++) {
    const invoice = {
      businessId: business.id,
      number: `${prefix}-${String(1000 + i)}`,
      status: STATUSES[(i * 7) % STATUSES.length] ?? 'SENT',
      total: `${80 + ((i * 373) % 2400)}.${String((i * 35) % 100).padStart(2, '0')}`,
      currency,
      customerId: `contact-${(i % 9) + 1}`,
    };
    await addInvoice(db, invoice, now - (count - i) * 2 * DAY);
  }
}

async function addDemoApp(
  db: Database,
  app: { name: string; ownerBusinessId: string | null; openToAnyBusiness: boolean },
  now: number,
) {
  const settings = {
    ...app,
    // On a loopback address any port will do.
    redirectUris: ['http://127.0.0.1/callback'],
    allowedScopes: readScopes(['read:invoices', 'read:contacts']).scopes,
    requiresPkce: true,
    createdBy: null,
  };
  const registered = await registerApp(db, settings, now);
  if (!registered) throw new Error(`The demo app ${app.name} could not be registered.`);
  return { clientId: registered.app.id, clientSecret: registered.secret };
}
