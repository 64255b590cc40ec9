import assert from 'node:assert/strict';
import { MINUTE } from '../../src/lib/clock.ts';
import { assertAccessible, clickButton, clickLink, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { launchChromium, startCallbackServer } from '../support/chromium.ts';
import type { TestServer } from '../support/test-server.ts';

const flowTest = createFlowTest(await launchChromium());
const { uri } = await startCallbackServer();

const addLedgerly = (server: TestServer) =>
  server.addApp({ name: 'Ledgerly', redirectUris: [uri], ownerBusinessId: server.acme.id });

/** The app has had time to sign its user in. */
async function exchange(server: TestServer, app: Awaited<ReturnType<typeof addLedgerly>>, url: string) {
  const code = new URL(url).searchParams.get('code') ?? '';
  const { body } = await server.exchange(code, { redirect_uri: uri, client_id: app.id, client_secret: app.secret });
  server.advanceClock(10 * MINUTE);
  return body;
}

const userOf = async (server: TestServer, token: string) =>
  (await server.get('/api/v1/me', { authorization: `Bearer ${token}` })).body.user.name;

flowTest(
  'an admin connects an app for the business, and an owner who removes them takes it over',
  async ({ server, openSignedIn }) => {
    const app = await addLedgerly(server);
    const ann = await server.addUser('Ann', [[server.acme, 'admin']]);

    const consent = await openSignedIn(ann, server.authorizeUrl({ client_id: app.id, redirect_uri: uri }));
    await assertAccessible(consent);
    assert.ok(await consent.getByLabel('For me').isChecked());
    await consent.getByLabel('For Acme').check();
    await clickButton(consent, 'Allow');
    const { access_token } = await exchange(server, app, consent.url());

    const page = await openSignedIn(server.ada, '/settings/members');
    await clickLink(page, 'Manage Ann');
    await clickLink(page, 'Remove…');
    await waitForText(page, /Choose what happens to the apps that Ann connected to Acme/);
    await assertAccessible(page);
    assert.ok(await page.getByLabel('Keep it for Acme').isChecked());
    await clickButton(page, 'Remove Ann');
    await waitForText(page, /The member has been removed/);

    assert.equal(await userOf(server, access_token), 'Ada');
    await page.goto(`${server.web}/settings/connected-apps`);
    await waitForText(page, /responsible: Ada/);
    await assertAccessible(page);
  },
  { worksWithoutScript: true },
);

flowTest(
  'an owner takes a connection of the business over, and a member sees who is responsible for it',
  async ({ server, openSignedIn }) => {
    const app = await addLedgerly(server);
    const bo = await server.addUser('Bo', [[server.acme, 'owner']]);
    const mia = await server.addUser('Mia', [[server.acme, 'member']]);
    const consent = await openSignedIn(bo, server.authorizeUrl({ client_id: app.id, redirect_uri: uri }));
    await consent.getByLabel('For Acme').check();
    await clickButton(consent, 'Allow');
    const { access_token } = await exchange(server, app, consent.url());

    const page = await openSignedIn(server.ada, '/settings/connected-apps');
    await clickLink(page, 'Ledgerly, Bo, Acme');
    await assertAccessible(page);
    await clickLink(page, 'Take over Ledgerly from Bo');
    await waitForText(page, /has been responsible for it since/);
    await assertAccessible(page);
    assert.ok(await page.getByLabel('Ada (you)').isChecked());
    await clickButton(page, 'Move the connection');
    await waitForText(page, /Another owner is now responsible for the connection/);

    assert.equal(await userOf(server, access_token), 'Ada');
    const seen = await openSignedIn(mia, '/settings/connected-apps');
    await waitForText(seen, /responsible: Ada/);
    await assertAccessible(seen);
  },
  { worksWithoutScript: true },
);

flowTest(
  'a person who leaves sees which of their connections stay, and who becomes responsible for them',
  async ({ server, openSignedIn }) => {
    const app = await addLedgerly(server);
    const bo = await server.addUser('Bo', [[server.acme, 'owner']]);
    const page = await openSignedIn(bo, server.authorizeUrl({ client_id: app.id, redirect_uri: uri }));
    await page.getByLabel('For Acme').check();
    await clickButton(page, 'Allow');
    const { access_token } = await exchange(server, app, page.url());

    await page.goto(`${server.web}/settings/members`);
    await clickLink(page, 'Leave Acme…');
    await waitForText(page, /They stay, and Ada becomes responsible for them/);
    await assertAccessible(page);
    await clickButton(page, 'Leave Acme');
    await waitForText(page, /You have left the business/);

    assert.equal(await userOf(server, access_token), 'Ada');
  },
  { worksWithoutScript: true },
);
