import { insertSession } from '../../../src/accounts/sessions.ts';
import type { User } from '../../../src/accounts/users.ts';
import { ensureMigrated } from '../../../src/storage/migrate.ts';
import { openStorage } from '../../../src/storage/open.ts';
import type { Storage } from '../../../src/storage/storage.ts';
import { type Browser, createBrowser } from '../../support/browser.ts';
import { createFixtures, type RegisteredApp } from '../../support/fixtures.ts';
import { retryUntilAvailable } from './api-client.ts';

/** A business of its own, so that what one load ends is nobody else's. */
export interface TestBusiness {
  businessId: string;
  app: RegisteredApp;
  owner: Person;
  /** Comes and goes. */
  mate: Person;
  /** Whether it was acknowledged that the app is disabled. */
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

/** Nobody else holds the database when it is killed: whatever is needed of it is done before the server starts. */
export async function createBusinesses(url: string, count: number, { api, web }: Addresses): Promise<TestBusiness[]> {
  const storage = await openStorage(url);
  try {
    await ensureMigrated(storage);
    const people = await createFixtures(() => storage, Date.now);
    const firms: TestBusiness[] = [];
    for (let place = 0; place < count; place++) {
      const business = await people.addBusiness(`Firm ${place}`);
      const app = await people.addApp({ name: `App ${place}`, ownerBusinessId: business.id });
      const owner = await people.addUser(`Owner${place}`, [[business, 'owner']]);
      const mate = await people.addUser(`Mate${place}`);
      const enter = (user: User) => signIn(storage, user, createBrowser(web, [api, web]));
      firms.push({
        businessId: business.id,
        app,
        owner: await enter(owner),
        mate: await enter(mate),
        isDisabled: false,
      });
    }
    return firms;
  } finally {
    await storage.close();
  }
}

/** Without the password, whose slowness is not what is tried here. */
export async function signIn({ durable }: Storage, user: User, browser: Browser): Promise<Person> {
  const from = { user, browser: 'A test', address: '127.0.0.1' };
  browser.cookies.set('__Host-session', (await insertSession(durable, from, Date.now())).id);
  return { user, browser, csrf: '' };
}

/** Sends a form as it stands on a page. No redirect is followed: what it leads to has been done. */
export async function post({ browser, csrf }: Person, path: string, fields: Record<string, string> = {}) {
  const began = Date.now();
  const response = await browser.ask(path, { method: 'POST', body: new URLSearchParams({ csrf, ...fields }) });
  return { status: response.status, body: await response.text(), began, ended: Date.now() };
}

/** What every form of this browser carries. */
export async function fetchCsrf(person: Person): Promise<void> {
  person.csrf = await retryUntilAvailable(() => person.browser.csrf());
}
