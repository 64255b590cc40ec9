import { insertSession } from '../../../src/accounts/sessions.ts';
import type { User } from '../../../src/accounts/users.ts';
import { ensureMigrated } from '../../../src/storage/migrate.ts';
import { openStorage } from '../../../src/storage/open.ts';
import type { Storage } from '../../../src/storage/storage.ts';
import { type Browser, createBrowser } from '../../support/browser.ts';
import { createFixtures, type RegisteredApp } from '../../support/fixtures.ts';
import { retryUntilAvailable } from './api-client.ts';

/** One business for each load, so that loads do not affect each other. */
export interface TestBusiness {
  businessId: string;
  app: RegisteredApp;
  owner: Person;
  /** A user who joins and is removed repeatedly. */
  member: Person;
  /** Whether the server has acknowledged that the app is disabled. */
  isDisabled: boolean;
}

export interface Person {
  user: User;
  browser: Browser;
  csrf: string;
}

interface Addresses {
  api: string;
  web: string;
}

/** Prepares the database before the server starts, while this process may open it. */
export async function createBusinesses(url: string, count: number, { api, web }: Addresses): Promise<TestBusiness[]> {
  const storage = await openStorage(url);
  try {
    await ensureMigrated(storage);
    const fixtures = await createFixtures(() => storage, Date.now);
    const businesses: TestBusiness[] = [];
    for (let index = 0; index < count; index++) {
      const business = await fixtures.addBusiness(`Business ${index}`);
      const app = await fixtures.addApp({ name: `App ${index}`, ownerBusinessId: business.id });
      const owner = await fixtures.addUser(`Owner${index}`, [[business, 'owner']]);
      const member = await fixtures.addUser(`Member${index}`);
      const signInAs = (user: User) => signIn(storage, user, createBrowser(web, [api, web]));
      businesses.push({
        businessId: business.id,
        app,
        owner: await signInAs(owner),
        member: await signInAs(member),
        isDisabled: false,
      });
    }
    return businesses;
  } finally {
    await storage.close();
  }
}

/** Inserts a session, without the slow password hash. */
export async function signIn({ durable }: Storage, user: User, browser: Browser): Promise<Person> {
  const from = { user, browser: 'A test', address: '127.0.0.1' };
  browser.cookies.set('__Host-session', (await insertSession(durable, from, Date.now())).id);
  return { user, browser, csrf: '' };
}

/** Submits a form, without following the redirect. */
export async function post({ browser, csrf }: Person, path: string, fields: Record<string, string> = {}) {
  const began = Date.now();
  const response = await browser.fetch(path, { method: 'POST', body: new URLSearchParams({ csrf, ...fields }) });
  return { status: response.status, body: await response.text(), began, ended: Date.now() };
}

/** Reads the CSRF token of this browser's forms. */
export async function fetchCsrf(person: Person): Promise<void> {
  person.csrf = await retryUntilAvailable(() => person.browser.csrf());
}
