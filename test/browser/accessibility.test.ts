import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { createKeyring } from '../../src/lib/keyring.ts';
import { addRequests, listRequests } from '../../src/request-log/log.ts';
import { sendTest } from '../../src/webhooks/deliveries.ts';
import { listDeliveries } from '../../src/webhooks/delivery-log.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import { findAxeViolations, launchChromium, signIn } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { requestOf } from '../support/request-log.ts';
import { startTestServer } from '../support/test-server.ts';

const chromium = await launchChromium();
const server = await startTestServer();
const other = await server.addBusiness('Borealis');
const admin = await server.addUser(
  'Pat',
  [
    [server.acme, 'owner'],
    [other, 'member'],
  ],
  true,
);
const open = await server.addApp({ name: 'Open', ownerBusinessId: server.acme.id, openToAnyBusiness: true });
await server.connect();

/** Contrast depends on the theme, and overflow on the size. The browser flows cover the other two combinations. */
const DEVICES = [
  { colorScheme: 'light', viewport: { width: 360, height: 740 } },
  { colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
] as const;

const PUBLIC = ['/sign-in', '/sign-out', '/no-such-page'];
const PRIVATE = [
  '/settings/connected-apps',
  '/settings/connected-apps/assistant',
  `/settings/connected-apps/${server.ledger.id}/${server.ada.id}`,
  '/settings/developer',
  '/settings/developer/new',
  `/settings/developer/${server.ledger.id}`,
  `/settings/developer/${server.ledger.id}/delete`,
  `/settings/developer/${server.ledger.id}/requests`,
  `/settings/developer/${server.ledger.id}/requests?period=month&status=failed`,
  `/settings/developer/${server.ledger.id}/requests?time=hour&q=${server.ledger.id}`,
  `/settings/developer/${server.ledger.id}/requests/${await logRefusal()}`,
  `/settings/developer/${server.ledger.id}/connections`,
  `/settings/developer/${server.ledger.id}/endpoints`,
  `/settings/developer/${server.ledger.id}/endpoints/new`,
  ...(await addDelivery()),
  `/settings/developer/${server.ledger.id}/try`,
  '/settings/end-connections',
  '/settings/account',
  '/settings/two-step',
  '/settings/business',
  '/settings/members',
  '/settings/members/invite',
  '/settings/members/invitations',
  '/settings/audit-log',
  '/settings/audit-log?kind=member&q=nobody',
  '/platform/apps',
  `/platform/apps/${server.ledger.id}`,
  `/platform/apps/${server.ledger.id}/pause`,
  '/platform/businesses',
  `/platform/businesses/${server.acme.id}`,
  '/platform/users',
  `/platform/users/${server.ada.id}`,
  `/platform/users/${server.ada.id}/end-connections`,
  '/platform/settings',
  '/platform/audit-log',
  '/platform/developer/apps',
  '/platform/developer/apps/new',
];

for (const { colorScheme, viewport } of DEVICES) {
  test(`every page is accessible, fits the screen and has at most one filled button, ${colorScheme}, ${viewport.width} pixels wide`, async () => {
    const { page } = await chromium.newPage({ colorScheme, viewport });
    for (const path of PUBLIC) await visit(page, `${server.web}${path}`);
    await visit(page, `${server.api}/api/v1/oauth/authorize?client_id=unknown`);
    for (const path of [
      '/',
      '/docs/errors',
      '/docs/errors/invalid_grant',
      '/docs/guides',
      '/docs/guides/receive-webhooks',
      '/docs/reference/api',
    ]) {
      await visit(page, `${server.api}${path}`);
    }
    await page.goto(`${server.web}/sign-in`);
    await signIn(page, admin.email, PASSWORD);
    for (const path of PRIVATE) await visit(page, `${server.web}${path}`);
    await visit(page, server.authorizeUrl({ client_id: open.id, scope: 'read:invoices write:invoices read:contacts' }));
  });
}

test('a rejected form is accessible, too', async () => {
  const { page } = await chromium.newPage();
  await page.goto(`${server.web}/settings/developer/new`);
  await signIn(page, admin.email, PASSWORD);
  await page.getByLabel('App name').fill('Nameless');
  await page.getByLabel('Redirect URI 1').fill('nowhere');
  await page.getByRole('button', { name: 'Register app' }).click();
  await page.getByText('This is not a complete URL').waitFor();

  assert.deepEqual(await findAxeViolations(page), []);
});

/** Returns the id of a rejected request in the log. */
async function logRefusal(): Promise<string> {
  const db = server.storage().durable;
  const { id: appId } = server.ledger;
  await addRequests(db, [requestOf(appId, { at: server.clock(), businessId: server.acme.id })]);
  const [request] = await listRequests(db, { appId, status: 'failed', limit: 1 });
  return request?.id ?? '';
}

/** The pages of an endpoint that cannot be reached, and of a delivery to it. */
async function addDelivery(): Promise<string[]> {
  const db = server.storage().durable;
  const { id: appId } = server.ledger;
  const keys = createKeyring(server.settings.secretKeys);
  const addition = { appId, url: 'https://127.0.0.1/', eventTypes: ['grant.created'] };
  const { endpoint } = await insertEndpoint(db, keys, addition, server.clock());
  await sendTest(db, endpoint, server.clock());
  const path = `/settings/developer/${appId}/endpoints/${endpoint.id}`;
  for (;;) {
    const [delivery] = await listDeliveries(db, { endpointId: endpoint.id, status: 'failed', limit: 1 });
    if (delivery) return [path, `${path}?status=delivered`, `${path}/deliveries/${delivery.id}`];
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function visit(page: Page, url: string): Promise<void> {
  await page.goto(url);
  assert.deepEqual(await findAxeViolations(page), [], url);
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.equal(overflow, 0, `${url} scrolls sideways`);
  const filled = await page.locator('.primary').filter({ visible: true }).allTextContents();
  assert.ok(filled.length <= 1, `${url} has these filled buttons: ${filled}`);
}
