import assert from 'node:assert/strict';
import { addScopeUses } from '../../src/request-log/counts.ts';
import { launchChromium } from '../support/chromium.ts';
import { newClient } from '../support/client.ts';
import { assertOpen, follow, newJourneys, press, read } from '../support/journey.ts';

const journey = newJourneys(await launchChromium());

journey('an owner sees what everyone has connected, and disconnects it', async ({ server, arrive }) => {
  const bolt = await server.addBusiness('Bolt');
  const member = await server.addUser('Sam', [[server.acme, 'member']]);
  const app = await server.addApp({ name: 'Ledgerly', ownerBusinessId: bolt.id, openToAnyBusiness: true });
  const client = newClient({ ...server, user: server.ada, app, business: server.acme });
  const scope = 'read:invoices write:invoices';
  const tokens = [];
  for (const user of [server.ada, member]) tokens.push(await client.connect({ scope }, await server.signedIn(user)));
  const use = { businessId: server.acme.id, appId: app.id, scope: 'read:invoices', uses: 12, lastAt: server.clock() };
  await addScopeUses(server.storage().durable, [{ ...use, userId: member.id }]);

  const page = await arrive(server.ada, '/settings/connected-apps');
  await read(page, 'used 12 times');
  await assertOpen(page);
  await follow(page, 'Disconnect Ledgerly for Sam');
  await assertOpen(page);
  await follow(page, 'Keep it');
  await follow(page, /for everyone/);
  await assertOpen(page);
  await press(page, 'Disconnect');
  await read(page, /^Disconnected/);

  for (const { access_token, refresh_token } of tokens) {
    assert.equal((await client.listInvoices(access_token)).body.reason, 'disconnected_by_owner');
    assert.equal((await client.refresh(refresh_token)).body.reason, 'disconnected_by_owner');
  }
});
