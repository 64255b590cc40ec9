import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { freePort } from '../../support/ports.ts';
import { allowWhenAsked, openProgram } from './npm-program.ts';

const { server, url, folder, bin } = await openProgram('@modelcontextprotocol/inspector@2.12.0');
const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`;

/** Without a terminal, it signs in only if it can open a browser. BROWSER prevents a window. */
const ENV = {
  PATH: process.env.PATH,
  HOME: folder,
  MCP_STORAGE_DIR: folder,
  MCP_INSPECTOR_SECRET_STORE: 'file',
  MCP_AUTO_OPEN_ENABLED: 'true',
  BROWSER: 'true',
};

/** Runs the command line once, and returns what it prints. */
async function inspect(args: string[]) {
  const options = ['--cli', '--server-url', url, '--transport', 'http', '--callback-url', callback, '--format', 'json'];
  const child = spawn(join(bin, 'mcp-inspector'), [...options, ...args], {
    cwd: folder,
    env: ENV,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output] = await Promise.all([text(child.stdout), allowWhenAsked(server, child.stderr), once(child, 'close')]);
  assert.equal(child.exitCode, 0, output);
  return JSON.parse(output);
}

for (const era of ['modern', 'legacy']) {
  test(`the MCP Inspector signs in, lists the tools and calls one, in the ${era} era`, async () => {
    const { result: listed, schemaFindings = [] } = await inspect([
      '--method',
      'tools/list',
      '--strict',
      '--protocol-era',
      era,
    ]);
    const call = ['--method', 'tools/call', '--tool-name', 'list_invoices', '--tool-arg', 'limit=5'];
    const { result: called } = await inspect([...call, '--protocol-era', era]);

    assert.ok(listed.tools.length > 30);
    assert.deepEqual(schemaFindings, []);
    assert.equal(called.structuredContent.items[0].number, 'INV-2001');
  });
}
