import assert from 'node:assert/strict';
import { addScopeUses } from '../../src/request-log/counts.ts';
import { assertAccessible, clickButton, clickLink, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { launchChromium } from '../support/chromium.ts';
import { createClient } from '../support/client.ts';

const flowTest = createFlowTest(await launchChromium());

flowTest('an owner sees what everyone has connected, and disconnects it', async ({ server, openSignedIn }) => {
  const bolt = await server.addBusiness('Bolt');
  const member = await server.addUser('Sam', [[server.acme, 'member']]);
  const app = await server.addApp({ name: 'Ledgerly', ownerBusinessId: bolt.id, openToAnyBusiness: true });
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });
  const scope = 'read:invoices write:invoices';
  const tokens = [];
  for (const user of [server.ada, member]) tokens.push(await client.connect({ scope }, await server.signedIn(user)));
  const use = { businessId: server.acme.id, appId: app.id, scope: 'read:invoices', uses: 12, lastAt: server.clock() };
  await addScopeUses(server.storage().durable, [{ ...use, userId: member.id }]);

  const page = await openSignedIn(server.ada, '/settings/connected-apps');
  await assertAccessible(page);
  await clickLink(page, 'Ledgerly, Sam, Acme');
  await waitForText(page, 'used 12 times');
  await assertAccessible(page);
  await clickLink(page, 'Disconnect Ledgerly for Sam');
  await assertAccessible(page);
  await clickLink(page, 'Cancel');
  await clickLink(page, /for everyone/);
  await assertAccessible(page);
  await clickButton(page, 'Disconnect');
  await waitForText(page, /^Disconnected/);

  for (const { access_token, refresh_token } of tokens) {
    assert.equal((await client.listInvoices(access_token)).body.reason, 'disconnected_by_owner');
    assert.equal((await client.refresh(refresh_token)).body.reason, 'disconnected_by_owner');
  }
});
