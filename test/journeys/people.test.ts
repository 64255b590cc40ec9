import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { findBarriers, launchChromium, newCallback, signIn } from '../support/chromium.ts';
import { PASSWORD } from '../support/people.ts';
import { newWorld, type World } from '../support/world.ts';

const LOOKS = [
  { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
] as const;

const chromium = await launchChromium();
const { uri } = await newCallback();

interface Traveller {
  world: World;
  /** Someone opens a page in a browser of their own, and signs in on the way. */
  arrive(email: string, path: string): Promise<Page>;
  /** Someone whom nobody knows yet. */
  wander(path: string): Promise<Page>;
}

/** The same journey at a desk by day and on a phone by night. */
function journey(name: string, walk: (traveller: Traveller) => Promise<void>): void {
  for (const look of LOOKS) {
    test(`${name} (${look.colorScheme}, ${look.viewport.width} pixels wide)`, async () => {
      const world = await newWorld();
      const heard: string[][] = [];
      const wander = async (path: string) => {
        const { page, complaints } = await chromium.newPage(look);
        heard.push(complaints);
        await page.goto(new URL(path, world.web).href);
        return page;
      };
      const arrive = async (email: string, path: string) => {
        const page = await wander(path);
        await signIn(page, email, PASSWORD);
        return page;
      };
      await walk({ world, arrive, wander });
      assert.deepEqual(heard.flat(), [], 'no console has anything to complain of');
    });
  }
}

/** Nothing on the page, as it stands, is in anybody's way. */
async function assertOpen(page: Page): Promise<void> {
  assert.deepEqual(await findBarriers(page), [], page.url());
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.equal(overflow, 0, `${page.url()} scrolls sideways`);
}

async function press(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole('button', { name, exact: typeof name === 'string' }).click();
}

async function follow(page: Page, name: string | RegExp): Promise<void> {
  await page.getByRole('link', { name, exact: typeof name === 'string' }).click();
}

journey('a person leaves out what an app could do without, and the app is told', async ({ world, arrive }) => {
  const app = await world.addApp({ name: 'Ledgerly', redirectUris: [uri], ownerBusinessId: world.acme.id });
  const asked = { client_id: app.id, redirect_uri: uri, optional_scope: 'read:contacts' };

  const page = await arrive(world.ada.email, world.authorizeUrl(asked));
  await assertOpen(page);
  await page.getByLabel('View CRM contacts and companies').uncheck();
  await press(page, 'Allow');

  const code = new URL(page.url()).searchParams.get('code') ?? '';
  const { body } = await world.exchange(code, { redirect_uri: uri, client_id: app.id, client_secret: app.secret });
  assert.equal(body.scope, 'read:invoices');
});

journey('a developer sees a request as it is made, why it was refused, and who connects', async ({ world, arrive }) => {
  const { access_token } = await world.connect();
  const page = await arrive(world.ada.email, `/settings/developer/${world.ledger.id}`);
  await assertOpen(page);
  await follow(page, 'Requests');
  await page.getByRole('heading', { name: 'Activity' }).waitFor();
  await assertOpen(page);

  const refused = await world.listInvoices(access_token, { 'x-business-id': world.ledger.id });
  // It comes by itself: nobody reloads the page.
  await page.getByText(refused.headers.get('x-request-id') ?? 'none').waitFor();
  await page.getByRole('link', { name: 'business_mismatch' }).waitFor();

  await follow(page, 'Connections');
  await page.getByRole('rowheader', { name: 'Acme' }).waitFor();
  await assertOpen(page);
});

journey('a platform admin pauses an app everywhere, resumes it, and disables a user', async ({ world, arrive }) => {
  const root = await world.addUser('Root', [], true);
  const { access_token, refresh_token } = await world.connect();

  const page = await arrive(root.email, '/settings/account');
  await follow(page, 'Platform');
  await page.getByRole('searchbox').fill('ledg');
  await press(page, 'Search');
  await assertOpen(page);
  await follow(page, 'Ledger');
  await assertOpen(page);
  await follow(page, 'Pause…');
  await page.getByText(/1 business/).waitFor();
  await assertOpen(page);
  await press(page, 'Pause app');
  await page.getByText('The app is paused everywhere.').waitFor();
  assert.equal((await world.listInvoices(access_token)).body.reason, 'app_paused');
  assert.equal((await world.refresh(refresh_token)).body.reason, 'app_paused');
  await press(page, 'Resume');
  await page.getByText('The app is resumed.').waitFor();
  assert.equal((await world.listInvoices(access_token)).status, 200);

  for (const name of ['Businesses', 'Users']) {
    await follow(page, name);
    await assertOpen(page);
  }
  await follow(page, 'Ada');
  await assertOpen(page);
  await follow(page, 'Disable…');
  await press(page, 'Disable user');
  await page.getByText('The user is disabled, and signed out everywhere.').waitFor();
  assert.equal((await world.refresh(refresh_token)).body.reason, 'user_disabled');
});

journey('an owner invites someone, makes them an admin, removes them, and reads of it all', async (traveller) => {
  const { world, arrive, wander } = traveller;
  const page = await arrive(world.ada.email, '/settings/members');
  await assertOpen(page);
  await follow(page, 'Invite someone');
  await assertOpen(page);
  await press(page, /Make/);
  const link = (await page.locator('code', { hasText: '/invitation/' }).first().textContent()) ?? '';
  await assertOpen(page);

  const guest = await wander(link);
  await assertOpen(guest);
  await guest.getByLabel('Your name').fill('Newcomer');
  await guest.getByLabel('Email').fill('newcomer@example.com');
  await guest.getByLabel('Password').fill(PASSWORD);
  await press(guest, 'Make the account and join');
  await guest.getByText('Welcome. You are now a member.').waitFor();

  await page.goto(`${world.web}/settings/members`);
  await follow(page, 'Manage Newcomer');
  await assertOpen(page);
  await page.getByLabel(/^Admin/).check();
  await press(page, 'Save');
  await page.getByText('The role is changed.').waitFor();
  await guest.goto(`${world.web}/settings/developer`);
  await guest.getByRole('link', { name: 'New app' }).waitFor();

  await follow(page, 'Manage Newcomer');
  await follow(page, 'Remove…');
  await assertOpen(page);
  await press(page, 'Remove Newcomer');
  await page.getByText('The member is removed.').waitFor();

  await follow(page, 'Audit log');
  await page.getByText('Removed a member').first().waitFor();
  await assertOpen(page);
  const download = page.waitForEvent('download');
  await follow(page, 'Export as CSV');
  const csv = readFileSync(await (await download).path(), 'utf8');
  assert.match(csv, /Newcomer/);
});

journey('a person changes their name and password, and ends a session elsewhere', async ({ world, arrive }) => {
  const other = await arrive(world.ada.email, '/settings/account');
  const page = await arrive(world.ada.email, '/settings/account');
  await assertOpen(page);
  await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace');
  await press(page, 'Change name');
  await page.getByText('Your name is changed.').waitFor();

  await press(page, /^End the session of/);
  await page.getByText('The session is ended.').waitFor();
  await other.goto(`${world.web}/settings/account`);
  assert.match(other.url(), /\/sign-in/);

  await page.getByLabel('Current password').fill(PASSWORD);
  await page.getByLabel('New password').fill('a whole new drawbridge');
  await press(page, 'Change password');
  await page.getByText('Your password is changed.').waitFor();
});
