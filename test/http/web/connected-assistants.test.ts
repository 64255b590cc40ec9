import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeDynamicClientId } from '../../../src/apps/dynamic-client-ids.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import type { Browser } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { CALLBACK, PKCE, startDocumentHost, VERIFIER } from '../../support/client-document-host.ts';
import { connectionsIn, openConnection } from '../../support/connections.ts';
import { callTool } from '../../support/mcp.ts';
import { startTestServer } from '../../support/test-server.ts';

const APPS = '/settings/connected-apps';
const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes', DYNAMIC_REGISTRATION: 'on' });
const documents = await startDocumentHost();
const url = { any: `${server.api}/mcp`, acme: `${server.api}/mcp/${server.acme.id}` };

interface ConnectOptions {
  clientId: string;
  resource?: string;
  scope?: string;
}

async function connect({ clientId, resource = url.any, scope = 'read:invoices' }: ConnectOptions, browser: Browser) {
  const request = { client_id: clientId, redirect_uri: CALLBACK, resource, scope, ...PKCE };
  const code = await server.allow(request, browser);
  const client = { client_id: clientId, client_secret: undefined, redirect_uri: CALLBACK };
  const { status, body } = await server.exchange(code, { ...client, code_verifier: VERIFIER });
  assert.equal(status, 200, JSON.stringify(body));
  return body.access_token as string;
}

/** The text of the page of the connection. */
async function connectionOf(browser: Browser, name: string): Promise<string> {
  return textOf((await openConnection(browser, name)).text);
}

function textOf(part: string): string {
  return part.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
}

async function newcomer(name: string) {
  const user = await server.addUser(name, [[server.acme, 'member']]);
  return { user, browser: await server.signedIn(user) };
}

test('an assistant is shown as such, with the host that describes it and its address', async () => {
  const { browser } = await newcomer('Ann');
  await connect({ clientId: documents.newClientId(), resource: url.acme }, browser);

  const card = await connectionOf(browser, 'Assistant');

  assert.match(card, /AI assistant/);
  assert.match(card, new RegExp(`From ${new URL(documents.url).host}`));
  assert.match(card, new RegExp(`Address ${url.acme} `));
  assert.doesNotMatch(card, /Last call/);
});

test('an assistant that registered itself says so', async () => {
  const { browser } = await newcomer('Ben');
  const keys = createKeyring(server.settings.secretKeys);
  const clientId = encodeDynamicClientId(keys, { name: 'Walkin', redirectUris: [CALLBACK], scope: undefined });
  await connect({ clientId }, browser);

  const card = await connectionOf(browser, 'Walkin');

  assert.match(card, /AI assistant/);
  assert.match(card, /Registered itself/);
  assert.match(card, new RegExp(`Address ${url.any} `));
});

test('a registered app is an assistant only if it is connected to an MCP server', async () => {
  const { user, browser } = await newcomer('Cid');
  const app = await server.addApp({ name: 'Courier', ownerBusinessId: server.acme.id });
  const courier = createClient({ ...server, user, app, business: server.acme });
  await courier.connect({}, browser);
  const before = await connectionOf(browser, 'Courier');
  await courier.connect({ resource: url.any }, browser);
  const after = await connectionOf(browser, 'Courier');

  assert.doesNotMatch(before, /AI assistant|\/mcp/);
  assert.match(after, /AI assistant.*a business called “Acme”.*\/mcp/);
});

test('the page shows what the assistant did, and its last call', async () => {
  const { browser } = await newcomer('Dee');
  const token = await connect({ clientId: documents.newClientId(), scope: 'read:invoices read:contacts' }, browser);
  await callTool({ url: url.any, token }, 'list_invoices');
  await callTool({ url: url.any, token }, 'list_invoices');
  server.advanceClock(1000);
  await callTool({ url: url.any, token }, 'list_contacts');

  const card = await connectionOf(browser, 'Assistant');

  assert.match(card, /Last used 2030-01-01 00:00 UTC/);
  assert.match(card, /Last call View CRM contacts and companies/);
  assert.match(card, /View invoices, line items and payment status used 2 times/);
});

test('an assistant that asks for more, or at another address, is still one connection', async () => {
  const { browser } = await newcomer('Eve');
  const clientId = documents.newClientId();
  await connect({ clientId }, browser);
  await connect({ clientId, scope: 'read:contacts' }, browser);
  await connect({ clientId, resource: url.acme }, browser);

  const listed = connectionsIn(await browser.open(APPS));
  const card = await connectionOf(browser, 'Assistant');

  assert.equal(listed.length, 1);
  assert.match(card, /View invoices.*View CRM contacts/);
  assert.ok(card.includes(`Address ${url.any} Address ${url.acme} `), card);
});

test('an owner sees the assistants of members, and disconnects them', async () => {
  const { user, browser } = await newcomer('Fay');
  const clientId = documents.newClientId();
  const token = await connect({ clientId }, browser);
  const owner = await server.signedIn();
  const { text } = await owner.open(`${APPS}?q=Fay`);
  const path = /href="([^"]+)" aria-label="Disconnect Assistant for Fay"/.exec(text)?.[1] ?? '';

  assert.match(textOf(text), /AI assistant/);
  await owner.submit(await owner.open(path), path, {});

  const { status, body } = await callTool({ url: url.any, token }, 'get_me');
  assert.deepEqual([status, body.reason], [401, 'disconnected_by_owner']);
  assert.doesNotMatch((await (await server.signedIn(user)).open(APPS)).text, /AI assistant/);
});

test('connections in other businesses are marked, too', async () => {
  const bolt = await server.addBusiness('Bolt');
  const user = await server.addUser('Gil', [
    [server.acme, 'member'],
    [bolt, 'member'],
  ]);
  const browser = await server.signedIn(user);
  await connect({ clientId: documents.newClientId(), resource: `${server.api}/mcp/${bolt.id}` }, browser);

  const { text } = await browser.open(APPS);

  assert.match(textOf(text), /Assistant AI assistant Gil in Bolt/);
});
