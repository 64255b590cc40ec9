import { insertBusiness } from '../src/accounts/businesses.ts';
import { insertMembership } from '../src/accounts/memberships.ts';
import { newUserRow } from '../src/accounts/new-users.ts';
import { insertSession } from '../src/accounts/sessions.ts';
import { insertUser } from '../src/accounts/users.ts';
import { insertApp } from '../src/apps/apps.ts';
import { addInvoice } from '../src/business/invoices.ts';
import { saveConsent } from '../src/grants/consents.ts';
import { migrate } from '../src/storage/migrate.ts';
import { openStorage } from '../src/storage/open.ts';
import type { Storage } from '../src/storage/storage.ts';

export const SCOPE = 'read:invoices';
export const REDIRECT_URI = 'https://ledger.example/callback';
export const SECRET_KEY = 'the-key-that-the-bench-signs-its-tokens-with';
const INVOICES = 20;

export interface Seed {
  app: { id: string; secret: string };
  users: SeededUser[];
}

/** A user with a business, twenty invoices, a session, and a consent for the app. */
export interface SeededUser {
  userId: string;
  businessId: string;
  session: string;
  /** Newest first. */
  invoiceIds: string[];
  /** The index of the business in a filled database. */
  business?: number;
}

/** Migrates a database and adds the users that the scenarios need. */
export async function seed(databaseUrl: string, count: number): Promise<Seed> {
  const storage = await openStorage(databaseUrl, 'migrating');
  try {
    await migrate(storage);
    return await addUsers(storage, count);
  } finally {
    await storage.close();
  }
}

async function addUsers(storage: Storage, count: number): Promise<Seed> {
  const now = Date.now();
  const owner = await insertBusiness(storage.durable, { name: 'Ledger Ltd' }, now);
  const registration = {
    name: 'Ledger',
    redirectUris: [REDIRECT_URI],
    allowedScopes: [SCOPE],
    openToAnyBusiness: true,
    requiresPkce: false,
    ownerBusinessId: owner.id,
    createdBy: null,
  };
  const registered = await storage.transaction((db) => insertApp(db, registration, now));
  if (!registered?.secret) throw new Error('The app could not be registered.');
  const users: SeededUser[] = [];
  for (let index = 0; index < count; index += 1) users.push(await addUser(storage, registered.app.id, index, now));
  return { app: { id: registered.app.id, secret: registered.secret }, users };
}

async function addUser(storage: Storage, appId: string, index: number, now: number): Promise<SeededUser> {
  return storage.transaction(async (db) => {
    const business = await insertBusiness(db, { name: `Business ${index}` }, now);
    const person = { email: `person-${index}@example.com`, name: `Person ${index}` };
    const user = await insertUser(db, newUserRow({ ...person, passwordHash: '-', isPlatformAdmin: false }, now));
    if (!user) throw new Error('The user exists already.');
    const parties = { userId: user.id, businessId: business.id };
    await insertMembership(db, { ...parties, role: 'owner' }, now);
    await saveConsent(db, { ...parties, appId }, { allowed: [SCOPE], declined: [], expiresAt: null }, now);
    const session = await insertSession(db, { user, browser: 'bench', address: '127.0.0.1' }, now);
    const invoiceIds: string[] = [];
    for (let number = 1; number <= INVOICES; number += 1) {
      const invoice = {
        businessId: business.id,
        number: `INV-${number}`,
        status: 'SENT',
        total: '1234.50',
        currency: 'GBP',
        customerId: `contact-${number}`,
      };
      invoiceIds.unshift((await addInvoice(db, invoice, now)).id);
    }
    return { ...parties, session: session.id, invoiceIds };
  });
}
