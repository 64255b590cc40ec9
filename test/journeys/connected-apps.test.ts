import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addScopeUses } from '../../src/activity/scope-uses.ts';
import { findBarriers, launchChromium, signIn } from '../support/chromium.ts';
import { newClient } from '../support/client.ts';
import { PASSWORD } from '../support/people.ts';
import { newWorld } from '../support/world.ts';

const chromium = await launchChromium();
const world = await newWorld();
const bolt = await world.addBusiness('Bolt');
const owner = await world.addUser('Olivia', [
  [world.acme, 'owner'],
  [bolt, 'member'],
]);
const member = await world.addUser('Sam', [[world.acme, 'member']]);
const LOOKS = [
  { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
] as const;

for (const look of LOOKS) {
  test(`an owner sees what everyone has connected, and disconnects it, ${look.colorScheme}, ${look.viewport.width} pixels wide`, async () => {
    const app = await world.addApp({ name: 'Ledgerly', ownerBusinessId: bolt.id, openToAnyBusiness: true });
    const client = newClient({ ...world, user: world.ada, app, business: world.acme });
    const scope = 'read:invoices write:invoices';
    const tokens = [];
    for (const user of [owner, member]) tokens.push(await client.connect({ scope }, await world.signedIn(user)));
    const use = { businessId: world.acme.id, appId: app.id, scope: 'read:invoices', uses: 12, lastAt: world.clock() };
    await addScopeUses(world.storage().durable, [{ ...use, userId: member.id }]);
    const { page, complaints } = await chromium.newPage(look);
    await page.goto(`${world.web}/settings/connected-apps`);
    await signIn(page, owner.email, PASSWORD);
    await page.getByText('used 12 times').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);

    await page.getByRole('link', { name: 'Disconnect Ledgerly for Sam' }).click();
    assert.deepEqual(await findBarriers(page), []);
    await page.getByRole('link', { name: 'Keep it' }).click();
    await page.getByRole('link', { name: 'Disconnect for everyone: Ledgerly' }).click();
    assert.deepEqual(await findBarriers(page), []);
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByText('Disconnected.').waitFor();

    for (const { access_token } of tokens) {
      assert.equal((await client.listInvoices(access_token)).body.reason, 'disconnected_by_owner');
    }
    assert.deepEqual(complaints, []);
  });
}
