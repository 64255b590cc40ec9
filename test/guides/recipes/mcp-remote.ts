import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { freePort } from '../../support/ports.ts';
import { allowWhenAsked, openProgram } from './npm-program.ts';

const { server, url, folder, bin } = await openProgram('mcp-remote@0.15.1');

test('an assistant without HTTP reaches the server by mcp-remote', async () => {
  // BROWSER prevents a window: the test acts as the user.
  const env = { PATH: process.env.PATH ?? '', HOME: folder, MCP_REMOTE_CONFIG_DIR: folder, BROWSER: 'true' };
  const command = join(bin, 'mcp-remote');
  const transport = new StdioClientTransport({
    command,
    args: [url, String(await freePort())],
    env,
    stderr: 'pipe',
  });
  const allowed = allowWhenAsked(server, transport.stderr as Readable);
  const client = new Client({ name: 'assistant', version: '1.0.0' });

  await client.connect(transport);
  const { tools } = await client.listTools();
  const { structuredContent } = await client.callTool({ name: 'list_invoices', arguments: {} });
  await client.close();
  await allowed;

  assert.ok(tools.length > 30);
  assert.equal((structuredContent as { items: { number: string }[] }).items[0]?.number, 'INV-2001');
});
