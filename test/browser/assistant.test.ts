import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { Agent, connectAgent, KITS } from '../sdk/clients/mcp-agent.ts';
import { assertAccessible, clickButton, clickLink, createFlowTest, waitForText } from '../support/browser-flow.ts';
import { launchChromium, signIn, startCallbackServer } from '../support/chromium.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { callTool } from '../support/mcp.ts';
import type { TestServer } from '../support/test-server.ts';

const flowTest = createFlowTest(await launchChromium());
const [kit] = KITS;
assert.ok(kit);

/** Opens the authorize URL in a browser, and waits for the redirect back. */
class AgentWithBrowser extends Agent {
  override readonly redirectUrl: string;
  readonly #visit: (address: string) => Promise<Page>;

  constructor(server: TestServer, redirectUrl: string, visit: (address: string) => Promise<Page>) {
    super(server);
    this.redirectUrl = redirectUrl;
    this.clientMetadata.redirect_uris = [redirectUrl];
    this.#visit = visit;
  }

  override async redirectToAuthorization(address: URL): Promise<void> {
    this.authorizeUrls.push(address);
    const page = await this.#visit(address.href);
    await page.waitForURL(`${this.redirectUrl}?**`);
    this.response = new URL(page.url()).searchParams;
  }
}

flowTest(
  'a user copies the address, allows an assistant, sees what it did and disconnects it',
  async ({ server, openSignedIn, openPage }) => {
    await server.addInvoice(server.acme, { number: 'INV-31' });
    const settings = await openSignedIn(server.ada, '/settings/connected-apps');
    await clickLink(settings, 'Connect an assistant');
    await waitForText(settings, 'Each business has its own address');
    await assertAccessible(settings);
    const address = await settings.locator('#business-address').innerText();
    const { uri } = await startCallbackServer();
    const agent = new AgentWithBrowser(server, uri, async (authorizeUrl) => {
      const page = await openPage(authorizeUrl);
      await signIn(page, server.ada.email, PASSWORD);
      await waitForText(page, 'Assistant wants to access Acme');
      await assertAccessible(page);
      await clickButton(page, 'Allow');
      return page;
    });

    const { call, close } = await connectAgent(kit, agent, address);
    const { items } = await call('list_invoices');
    await close();

    assert.deepEqual([items.length, items[0].number], [1, 'INV-31']);
    await settings.locator('#main').getByRole('link', { name: 'Connected apps' }).first().click();
    await waitForText(settings, 'AI assistant');
    await clickLink(settings, 'Assistant, Ada, Acme');
    await waitForText(settings, 'Last call');
    await waitForText(settings, address);
    await assertAccessible(settings);
    await clickButton(settings, 'Disconnect Assistant from Acme');
    await settings.getByRole('dialog', { name: 'Disconnect Assistant?' }).waitFor();
    await assertAccessible(settings);
    await clickButton(settings, 'Disconnect');
    await waitForText(settings, /^Disconnected/);
    const { status, body } = await callTool({ url: address, token: agent.pair?.access_token }, 'list_invoices');
    assert.deepEqual([status, body.reason], [401, 'disconnected_by_user']);
  },
  { env: { DYNAMIC_REGISTRATION: 'on' }, worksWithoutScript: true },
);

flowTest('the address is copied with one click', async ({ openSignedIn, server }) => {
  const page = await openSignedIn(server.ada, '/settings/connected-apps/assistant');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);

  await clickButton(page, 'Copy business address');
  await page.getByRole('button', { name: 'Copied' }).waitFor();

  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, `${server.api}/mcp/${server.acme.id}`);
});
