import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEMO_PASSWORD, DEMO_USERS } from '../../demo/data.ts';
import { createBrowser } from '../support/browser.ts';
import { createWorkspace, openGuide, ROOT } from '../support/guides.ts';
import { freePort } from '../support/ports.ts';

const guide = openGuide('build-an-agent', ['Call a tool']);
const workspace = createWorkspace();

test('the demo prints the address of its MCP server, and an agent on this machine needs nothing else', async () => {
  // The demo uses the three ports after that of the pages, too.
  const port = await freePort(5);
  const addresses = { BASE_URL: `http://localhost:${port}`, CONSENT_URL: `http://localhost:${port + 1}` };
  const demo = workspace.run([process.execPath, join(ROOT, 'src/cli/main.js'), 'demo'], { env: addresses });
  const MCP_URL = await demo.waitForOutput(/^ {2}(http\S+\/mcp) .*\n/m);
  workspace.linkPackage('@modelcontextprotocol');
  workspace.save('agent.ts', guide.take('Call a tool', 'ts'));
  const agent = workspace.run([process.execPath, 'agent.ts'], { env: { MCP_URL, PORT: String(await freePort()) } });
  const browser = createBrowser(addresses.CONSENT_URL, Object.values(addresses));
  await browser.signIn(DEMO_USERS.owner.email, DEMO_PASSWORD);

  const consent = await browser.open(await agent.waitForOutput(/^Open (.+)\n/m));
  const { leftTo } = await browser.submit(consent, '/consent', { decision: 'allow' });
  assert.ok(leftTo, consent.text);
  await fetch(leftTo);

  assert.match(await agent.waitForOutput(/^(\S+ [\d.]+ [A-Z]{3})\n/m), /^\S+ \d+\.\d\d /);
  const { text } = await browser.open('/settings/connected-apps');
  assert.match(text, />Bookkeeper<.*AI assistant/s);
  agent.stop();
  demo.stop();
});
