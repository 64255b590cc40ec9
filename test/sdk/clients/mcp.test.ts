import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { auth } from '@modelcontextprotocol/client';
import { HOUR } from '../../../src/lib/clock.ts';
import { makeCertificate, NO_CERTIFICATES } from '../../support/certificates.ts';
import { startTestServer } from '../../support/test-server.ts';
import { Agent, connectAgent, KITS, type Kit } from './mcp-agent.ts';

const server = await startTestServer({ DYNAMIC_REGISTRATION: 'on', WEBHOOKS_TO_LOOPBACK: 'yes' });
await server.addInvoice(server.acme, { number: 'INV-2001', total: '99.90' });
const url = `${server.api}/mcp`;

for (const kit of KITS) {
  test(`${kit.name} needs only the URL: it registers itself, asks the user, and calls a tool`, async () => {
    const agent = new Agent(server);

    const { call, listTools, close } = await connectAgent(kit, agent, url);
    const { tools } = await listTools();
    const { items } = await call('list_invoices');
    await close();

    assert.ok(tools.length > 30);
    assert.deepEqual(
      items.map(({ number, total }: { number: string; total: string }) => [number, total]),
      [['INV-2001', '99.90']],
    );
    const [authorizeUrl] = agent.authorizeUrls;
    assert.equal(agent.authorizeUrls.length, 1);
    assert.equal(authorizeUrl?.searchParams.get('resource'), url);
    assert.equal(authorizeUrl?.searchParams.get('code_challenge_method'), 'S256');
    assert.match(agent.client?.client_id ?? '', /^dyn_/);
  });

  test(`${kit.name} is identified by its metadata document, without a registration`, {
    skip: NO_CERTIFICATES,
  }, async () => {
    const clientId = await publishDocument();
    const agent = new Agent(server);
    agent.clientMetadataUrl = clientId;

    const { call, close } = await connectAgent(kit, agent, url);
    const { items } = await call('list_invoices');
    await close();

    assert.equal(items.length, 1);
    assert.equal(agent.client?.client_id, clientId);
    assert.equal(agent.authorizeUrls[0]?.searchParams.get('client_id'), clientId);
  });

  test(`${kit.name} refreshes its token automatically, without asking the user again`, async () => {
    const agent = new Agent(server);
    const { call, close } = await connectAgent(kit, agent, url);
    const before = agent.pair;
    server.advanceClock(HOUR);

    const { business } = await call('get_me');
    await close();

    assert.equal(business.name, 'Acme');
    assert.equal(agent.authorizeUrls.length, 1);
    assert.notEqual(agent.pair?.access_token, before?.access_token);
    assert.notEqual(agent.pair?.refresh_token, before?.refresh_token);
  });

  test(`${kit.name} asks the user again after its grant was revoked`, async () => {
    const agent = new Agent(server);
    const { call, close } = await connectAgent(kit, agent, url);
    await server.revoke(agent.pair?.refresh_token);

    const { items } = await call('list_invoices');
    await close();

    assert.equal(items.length, 1);
    assert.equal(agent.authorizeUrls.length, 2);
  });
}

// The former package refreshes its token instead of asking for more, so only the current one widens a connection.
for (const kit of KITS.slice(0, 2)) {
  test(`${kit.name} asks the user for what a tool needs in addition, and the connection keeps what it had`, async () => {
    // Another name is another client, which has no connection yet.
    const agent = new Agent(server, `Careful ${kit.name}`);
    await auth(agent, { serverUrl: url, scope: 'read:invoices' });
    const [authorizationCode = '', iss = ''] = ['code', 'iss'].map((name) => agent.response?.get(name) ?? '');
    await auth(agent, { serverUrl: url, authorizationCode, iss });
    assert.equal(agent.pair?.scope, 'read:invoices');
    const { call, close } = await connectAgent(kit, agent, url);

    const contact = await call('create_contact', { name: 'Grace' });
    const { items } = await call('list_invoices');
    await close();

    assert.equal(contact.name, 'Grace');
    assert.equal(items.length, 1);
    assert.equal(agent.authorizeUrls.length, 2);
    assert.deepEqual(agent.pair?.scope?.split(' ').sort(), ['read:invoices', 'write:contacts']);
  });
}

const [kit] = KITS as [Kit];

test('an assistant connects two businesses side by side, and each connection sees only its own', async () => {
  const other = await server.addBusiness('Harbour');
  await server.addMember(server.ada, other, 'admin');
  const names: string[] = [];

  for (const { id } of [server.acme, other]) {
    const { call, close } = await connectAgent(kit, new Agent(server), `${url}/${id}`);
    names.push((await call('get_me')).business.name);
    await close();
  }

  assert.deepEqual(names, ['Acme', 'Harbour']);
});

test('Deny reaches the client as access_denied, and nothing is connected', async () => {
  const agent = new Agent(server);
  agent.decision = 'deny';

  await assert.rejects(connectAgent(kit, agent, url), /access_denied|The user did not allow it/);

  assert.equal(agent.pair, undefined);
});

/** Clients accept only https, so the server has to trust a certificate that is made here. */
async function publishDocument(): Promise<string> {
  const { cert, key } = makeCertificate();
  const defaults = getCACertificates('default');
  setDefaultCACertificates([...defaults, cert]);
  after(() => setDefaultCACertificates(defaults));
  const host = createServer({ cert, key }, (_, response) => {
    const document = { ...new Agent(server).clientMetadata, client_id: clientId };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  });
  host.listen(0, '127.0.0.1');
  await once(host, 'listening');
  after(() => {
    host.closeAllConnections();
    host.close();
  });
  const clientId = `https://localhost:${(host.address() as AddressInfo).port}/client.json`;
  return clientId;
}
