import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../support/test-server.ts';

const APPS = '/settings/connected-apps';
const PATH = `${APPS}/assistant`;
const CLIENTS = ['Claude', 'ChatGPT', 'VS Code', 'Cursor'];

async function openPage(env: Record<string, string> = {}) {
  const server = await startTestServer(env);
  const { status, text } = await (await server.signedIn()).open(PATH);
  return { server, status, text, sections: sectionsOf(text) };
}

/** The text of each section, by its heading. */
function sectionsOf(page: string): Record<string, string> {
  const parts = page.split('<h2>').slice(1);
  const plain = (part: string) => part.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');
  return Object.fromEntries(parts.map((part) => [part.slice(0, part.indexOf('</h2>')), plain(part)]));
}

test('connected apps leads to the addresses of the MCP server, which can be copied', async () => {
  const { server, text } = await openPage();
  const { text: apps } = await (await server.signedIn()).open(APPS);

  assert.ok(apps.includes(`href="${server.acmePath('connected-apps/assistant')}"`));
  for (const address of [`${server.api}/mcp/${server.acme.id}`, `${server.api}/mcp`]) {
    const [, id] = new RegExp(`<code id="([a-z-]+)">${address}</code>`).exec(text) ?? [];
    assert.ok(id, address);
    assert.ok(text.includes(`data-copy="${id}"`));
  }
  assert.match(text, /Each business has its own address/);
});

test('the page has the steps for four assistants, what they can do, and where to disconnect them', async () => {
  const { text, sections } = await openPage({ DYNAMIC_REGISTRATION: 'on' });

  for (const name of CLIENTS) assert.ok((text.split(`<h2>${name}</h2>`)[1] ?? '').includes('<ol'), name);
  assert.match(sections['What it can do'] ?? '', /only what you allow.*Connected apps/);
});

test('the page names the assistants that have to be registered by hand with the settings of the server', async () => {
  const unable = async (env: Record<string, string>) => {
    const { sections } = await openPage(env);
    return CLIENTS.filter((name) => /cannot connect automatically/.test(sections[name] ?? ''));
  };

  assert.deepEqual(await unable({}), ['Cursor']);
  assert.deepEqual(await unable({ CLIENT_ID_METADATA: 'claude.ai,vscode.dev' }), ['ChatGPT', 'Cursor']);
  assert.deepEqual(await unable({ CLIENT_ID_METADATA: 'off' }), CLIENTS);
  assert.deepEqual(await unable({ CLIENT_ID_METADATA: 'off', DYNAMIC_REGISTRATION: 'on' }), []);
});

test('a server on this computer says that assistants in the cloud cannot reach it', async () => {
  const { sections } = await openPage();

  const unreachable = CLIENTS.filter((name) => /cannot reach/.test(sections[name] ?? ''));

  assert.deepEqual(unreachable, ['Claude', 'ChatGPT']);
});

test('a public server has no note about assistants in the cloud', async () => {
  const server = await startTestServer();
  await server.restart({ settings: { baseUrl: 'https://api.example.com' } });

  const { text } = await (await server.signedIn()).open(PATH);

  assert.doesNotMatch(text, /cannot reach/);
  assert.ok(text.includes('https://api.example.com/mcp'));
});

test('with MCP=off the page says so, and nothing leads to it', async () => {
  const { server, status, text } = await openPage({ MCP: 'off' });

  assert.equal(status, 200);
  assert.match(text, /Assistants cannot connect here/);
  assert.doesNotMatch(text, /\/mcp/);
  assert.ok(!(await (await server.signedIn()).open(APPS)).text.includes('/assistant'));
});

test('the page tells a user without a business to join one first', async () => {
  const server = await startTestServer();
  const withoutBusiness = await server.addUser('Nob', []);

  const { text } = await (await server.signedIn(withoutBusiness)).open(PATH);

  assert.match(text, /You are not a member of any business yet/);
  assert.doesNotMatch(text, /\/mcp/);
});

test('each business has its own address on the page', async () => {
  const { server } = await openPage();
  const bolt = await server.addBusiness('Bolt');
  const bob = await server.addUser('Bob', [[bolt, 'member']]);

  const { text } = await (await server.signedIn(bob)).open(PATH);

  assert.ok(text.includes(`${server.api}/mcp/${bolt.id}`));
  assert.ok(!text.includes(server.acme.id));
});
