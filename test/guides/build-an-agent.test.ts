import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PKCE, sendDocument, startDocumentHost, VERIFIER } from '../support/client-document-host.ts';
import { createWorkspace, openGuide } from '../support/guides.ts';
import { callTool } from '../support/mcp.ts';
import { freePort } from '../support/ports.ts';
import { startTestServer } from '../support/test-server.ts';

const guide = openGuide('build-an-agent');
const server = await startTestServer({ DYNAMIC_REGISTRATION: 'on', WEBHOOKS_TO_LOOPBACK: 'yes' });
const workspace = createWorkspace();
const env = { BASE_URL: server.api };

test('an agent can discover the server as in the guide', async () => {
  const printed = await workspace.bash(guide.take('See what a client discovers', 'sh'), { env }).waitForExit();

  assert.match(printed, new RegExp(`resource_metadata="${server.api}/.well-known/oauth-protected-resource/mcp"`));
  assert.match(printed, new RegExp(`"authorization_servers":\\["${server.api}"\\]`));
  assert.match(printed, /"client_id_metadata_document_supported":true/);
  assert.match(printed, /"registration_endpoint":/);
});

test('the registration of the guide gives a client_id that a user can allow', async () => {
  const { client_id } = JSON.parse(
    await workspace.bash(guide.take('Say who the agent is', 'sh'), { env }).waitForExit(),
  );

  await assertConnects(client_id);
});

test('the metadata document of the guide gives a client_id that a user can allow', async () => {
  const documents = await startDocumentHost();
  const clientId = documents.newClientId();
  const document = JSON.parse(guide.take('Say who the agent is', 'json'));
  documents.respondWith((_, response) => sendDocument(response, { ...document, client_id: clientId }));

  await assertConnects(clientId);
});

async function assertConnects(clientId: string): Promise<void> {
  const redirect_uri = 'http://127.0.0.1:8090/callback';
  const resource = `${server.api}/mcp`;
  const code = await server.allow({ client_id: clientId, redirect_uri, resource, ...PKCE });
  const client = { client_id: clientId, client_secret: undefined, redirect_uri };
  const { body } = await server.exchange(code, { ...client, code_verifier: VERIFIER });
  assert.equal((await callTool({ url: resource, token: body.access_token }, 'get_me')).status, 200);
}

test('the agent lists invoices, and requests consent again before it creates a company', async () => {
  await server.addInvoice(server.acme, { number: 'INV-7' });
  workspace.linkPackage('@modelcontextprotocol');
  workspace.save('agent.ts', guide.take('Call a tool', 'ts') + guide.take('Ask for more when you need it', 'ts'));
  const browser = await server.signedIn();
  const PORT = String(await freePort());
  const program = workspace.run([process.execPath, 'agent.ts'], { env: { MCP_URL: `${server.api}/mcp`, PORT } });

  const first = await allowPrinted(await program.waitForOutput(/^Open (.+)\n/m));
  await program.waitForOutput(/^INV-7 .*\n/m);
  const second = await allowPrinted(await program.waitForOutput(/^INV-7 .*\nOpen (.+)\n/m));
  const printed = await program.waitForExit();

  assert.doesNotMatch(first, /contacts/);
  assert.match(second, /You have allowed this app before/);
  assert.match(printed, /^[\da-f-]{36}$/m);
  assert.match((await browser.open('/settings/connected-apps')).text, /Bookkeeper/);

  /** The text of the consent screen. */
  async function allowPrinted(address: string): Promise<string> {
    const page = await browser.open(address);
    const { leftTo } = await browser.submit(page, '/consent', { decision: 'allow' });
    assert.ok(leftTo);
    assert.equal((await fetch(leftTo)).status, 200);
    return page.text;
  }
});
