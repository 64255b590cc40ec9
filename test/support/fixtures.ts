import assert from 'node:assert/strict';
import { type Business, insertBusiness } from '../../src/accounts/businesses.ts';
import { insertMembership, type Role } from '../../src/accounts/memberships.ts';
import { newUserRow } from '../../src/accounts/new-users.ts';
import { insertUser, type User } from '../../src/accounts/users.ts';
import { type App, insertApp, type NewApp } from '../../src/apps/apps.ts';
import { addInvoice } from '../../src/business/invoices.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { hashCheaply } from './cheap-hash.ts';
import { rememberSecret } from './leaks.ts';

export const PASSWORD = 'correct horse battery';
export const REDIRECT_URI = 'https://ledger.example/callback';

export interface RegisteredApp extends App {
  secret: string;
}

/** A business, its owner and an app, and functions that add more. */
export async function createFixtures(storage: () => Storage, clock: () => number) {
  const hash = hashCheaply(PASSWORD);
  rememberSecret('password', PASSWORD);
  const fixtures = {
    addBusiness: (name: string) => insertBusiness(storage().durable, { name }, clock()),

    async addUser(name: string, memberships: [Business, Role][] = [], isPlatformAdmin = false): Promise<User> {
      const email = `${name.toLowerCase()}@example.com`;
      const row = newUserRow({ email, name, passwordHash: hash, isPlatformAdmin }, clock());
      const added = await insertUser(storage().durable, row);
      assert.ok(added);
      for (const [business, role] of memberships) await fixtures.addMember(added, business, role);
      return added;
    },

    addMember: (user: User, business: Business, role: Role = 'member') =>
      insertMembership(storage().durable, { userId: user.id, businessId: business.id, role }, clock()),

    async addApp(changes: Partial<NewApp> & { scopes?: string[] } = {}): Promise<RegisteredApp> {
      const { scopes = ['read:invoices', 'write:invoices', 'read:contacts'], ...rest } = changes;
      const registration = {
        name: 'Ledger',
        redirectUris: [REDIRECT_URI],
        allowedScopes: scopes,
        openToAnyBusiness: false,
        requiresPkce: false,
        ownerBusinessId: null,
        createdBy: null,
        ...rest,
      };
      const registered = await storage().transaction((db) => insertApp(db, registration, clock()));
      assert.ok(registered);
      if (registered.secret !== null) rememberSecret('client secret', registered.secret);
      return { ...registered.app, secret: registered.secret ?? '' };
    },

    addInvoice: (business: Business, changes: Partial<Parameters<typeof addInvoice>[1]> = {}) =>
      storage().transaction((db) =>
        addInvoice(
          db,
          {
            businessId: business.id,
            number: 'INV-1',
            status: 'SENT',
            total: '1234.50',
            currency: 'GBP',
            customerId: 'contact-1',
            ...changes,
          },
          clock(),
        ),
      ),
  };
  const acme = await fixtures.addBusiness('Acme');
  const ada = await fixtures.addUser('Ada', [[acme, 'owner']]);
  const ledger = await fixtures.addApp({ ownerBusinessId: acme.id });
  return { ...fixtures, acme, ada, ledger };
}
