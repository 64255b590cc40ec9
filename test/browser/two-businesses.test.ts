import assert from 'node:assert/strict';
import { findMembership } from '../../src/accounts/memberships.ts';
import { assertAccessible, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { launchChromium } from '../support/chromium.ts';

const flow = createFlowTest(await launchChromium());

flow(
  'two tabs show two businesses, and each form changes its own',
  async ({ server, openSignedIn }) => {
    const bolt = await server.addBusiness('Bolt');
    const both = await server.addUser('Olga', [
      [server.acme, 'owner'],
      [bolt, 'owner'],
    ]);
    const people = [
      { business: server.acme, member: await server.addUser('Mia', [[server.acme, 'member']]), name: 'Acme' },
      { business: bolt, member: await server.addUser('Nils', [[bolt, 'member']]), name: 'Bolt' },
    ];
    const first = await openSignedIn(both, '/settings/account');
    const second = await first.context().newPage();
    const tabs = [first, second].map((page, i) => ({ page, ...(people[i] as (typeof people)[number]) }));
    for (const { page, business, member, name } of tabs) {
      await page.goto(`${server.web}/businesses/${business.id}/members/${member.id}`);
      await waitForText(page, `In ${name}`);
    }
    await assertAccessible(first);

    // Submits in the first tab after the second one was opened and used.
    for (const { page } of tabs.toReversed()) {
      const form = page.locator('form[action$="/role"]');
      await form.locator('[name=role][value=admin]').check();
      await form.getByRole('button').click();
      await page.waitForURL(/done=role_changed/);
    }

    for (const { page, business, member } of tabs) {
      assert.match(page.url(), new RegExp(`/businesses/${business.id}/members`));
      const { durable } = server.storage();
      assert.equal((await findMembership(durable, member.id, business.id))?.role, 'admin');
    }
  },
  { worksWithoutScript: true },
);
