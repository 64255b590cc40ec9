import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PKCE, VERIFIER } from '../../support/client-document-host.ts';
import { downloadPythonPackages, installPythonPackages, type Packages } from '../../support/python-packages.ts';
import { startTestServer } from '../../support/test-server.ts';
import { NO_PYTHON } from '../python/interpreter.ts';
import { decide } from './visitor.ts';

const PROGRAM = fileURLToPath(new URL('python/mcp_client.py', import.meta.url));
const REQUIREMENTS = fileURLToPath(new URL('python/requirements.txt', import.meta.url));
const MINUTES = 60_000;

const packages: Packages = NO_PYTHON ? { missing: NO_PYTHON } : await downloadPythonPackages(REQUIREMENTS);
const site = packages.wheels ? await installPythonPackages(packages.wheels, REQUIREMENTS) : '';
const skip = packages.missing;
const server = await startTestServer({ DYNAMIC_REGISTRATION: 'on' });
await server.addInvoice(server.acme, { number: 'INV-2001' });
const url = `${server.api}/mcp`;

interface Output {
  open?: string;
  revision?: string;
  tools?: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field, and assert its value.
  results?: any[];
  client?: string;
  scope?: string;
}

type Call = [tool: string, args: Record<string, unknown>];

/** Runs the program, with Ada as its user. Returns the parameters of the authorize URL, and its output. */
async function run(calls: Call[], { mode = 'auto', stored = {} }: { mode?: string; stored?: object } = {}) {
  const env = { MCP_URL: url, MCP_MODE: mode, MCP_STORED: JSON.stringify(stored), PYTHONPATH: site };
  const child = spawn('python3', [PROGRAM, JSON.stringify(calls)], {
    env: { ...process.env, ...env },
    timeout: 3 * MINUTES,
  });
  const [ended, errors] = [once(child, 'close'), text(child.stderr)];
  const lines: Output[] = [];
  for await (const line of createInterface(child.stdout)) {
    const output: Output = JSON.parse(line);
    lines.push(output);
    if (output.open) child.stdin.write(`${await decide(server, output.open)}\n`);
  }
  await ended;
  assert.equal(child.exitCode, 0, await errors);
  assert.equal(lines.length, 2);
  return { authorizeParams: new URL(lines[0]?.open ?? '').searchParams, output: lines[1] ?? {} };
}

for (const [mode, revision] of [
  ['auto', '2026-07-28'],
  ['legacy', '2025-11-25'],
] as const) {
  test(`the official Python client needs only the URL, and calls tools of revision ${revision}`, { skip }, async () => {
    const calls: Call[] = [
      ['get_me', {}],
      ['list_invoices', { limit: 10 }],
    ];

    const { authorizeParams, output } = await run(calls, { mode });

    const [me, invoices] = output.results ?? [];
    assert.equal(authorizeParams.get('resource'), url);
    assert.equal(output.revision, revision);
    assert.match(output.client ?? '', /^dyn_/);
    assert.ok(Number(output.tools) > 30);
    assert.equal(me.business.name, 'Acme');
    assert.deepEqual([invoices.items.length, invoices.items[0].number], [1, 'INV-2001']);
  });
}

test('the official Python client asks the user for what a tool needs in addition', { skip }, async () => {
  const stored = await connectCareful();

  const { authorizeParams, output } = await run([['create_contact', { name: 'Grace' }]], { stored });

  assert.deepEqual(authorizeParams.get('scope')?.split(' ').sort(), ['read:invoices', 'write:contacts']);
  assert.deepEqual(output.scope?.split(' ').sort(), ['read:invoices', 'write:contacts']);
  assert.equal(output.results?.[0].name, 'Grace');
});

/** The stored state of a client that may only read invoices. */
async function connectCareful() {
  const redirect_uri = 'http://127.0.0.1:33419/callback';
  const { body: client } = await server.post('register', { client_name: 'Careful', redirect_uris: [redirect_uri] });
  const { client_id } = client;
  const authorizeParams = { client_id, redirect_uri, resource: url, scope: 'read:invoices', ...PKCE };
  const code = await server.allow(authorizeParams);
  const fields = { grant_type: 'authorization_code', code, client_id, redirect_uri, code_verifier: VERIFIER };
  const { body: tokens } = await server.post('token', fields);
  return { client, tokens };
}
