import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { addInvoice } from '../../src/business/invoices.ts';
import { INVOICE_STATUSES } from '../../src/events/event-types.ts';
import type { Business } from '../../src/accounts/businesses.ts';
import { listMemberships } from '../../src/accounts/memberships.ts';
import { findUserByEmail } from '../../src/accounts/users.ts';
import { findApp, registerApp } from '../../src/apps/apps.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { DAY } from '../../src/lib/clock.ts';
import type { Database, Storage } from '../../src/storage/storage.ts';
import { addDemoConnections } from './connections.ts';
import { addDemoPeople, DEMO_USERS } from './people.ts';

export { DEMO_PASSWORD, DEMO_USERS } from './people.ts';

/** The two demo apps know their own secrets, as any app does: in a file that only they read. */
export interface DemoCredentials {
  thirdParty: { clientId: string; clientSecret: string };
  firstParty: { clientId: string; clientSecret: string };
}

/** Returns the business that makes the third-party demo app. */
export async function ensureDemoData(storage: Storage, now: number): Promise<string> {
  const maker = await findUserByEmail(storage.durable, DEMO_USERS.admin.email);
  const [membership] = maker ? await listMemberships(storage.durable, maker.id) : [];
  return membership?.businessId ?? storage.transaction((db) => addDemoData(db, now));
}

/** Found again at the second start; made anew if the file or the apps are gone. */
export async function ensureDemoApps(storage: Storage, ownerBusinessId: string, file: string, now: number) {
  const known: DemoCredentials | undefined = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  const find = (app: { clientId: string }) => findApp(storage.durable, app.clientId);
  if (known && (await find(known.thirdParty)) && (await find(known.firstParty))) return known;
  const credentials = await storage.transaction(async (db) => ({
    thirdParty: await addDemoApp(db, { name: 'Ledgerly', ownerBusinessId, openToAnyBusiness: true }, now),
    firstParty: await addDemoApp(db, { name: 'Workbench', ownerBusinessId: null, openToAnyBusiness: false }, now),
  }));
  writeFileSync(file, JSON.stringify(credentials, null, 2), { mode: 0o600 });
  return credentials;
}

async function addDemoData(db: Database, now: number): Promise<string> {
  const { harbour, northgate, owner, member, admin } = await addDemoPeople(db, now);
  const people = {
    maker: { user: admin, businessId: northgate.id },
    owner: { user: owner, businessId: harbour.id },
    member: { user: member, businessId: harbour.id },
  };
  await addDemoConnections(db, { maker: admin, ownerBusinessId: northgate.id, people }, now);
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
      status: INVOICE_STATUSES[(i * 7) % INVOICE_STATUSES.length] ?? 'SENT',
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
    allowedScopes: ['read:invoices', 'read:contacts'],
    requiresPkce: true,
  };
  const registered = await registerApp(OPERATOR, db, settings, now);
  if (!registered) throw new Error(`The demo app ${app.name} could not be registered.`);
  return { clientId: registered.app.id, clientSecret: registered.secret };
}
