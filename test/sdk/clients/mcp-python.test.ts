import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { downloadPythonPackages, installPythonPackages, type Packages } from '../../support/python-packages.ts';
import { startTestServer } from '../../support/test-server.ts';
import { NO_PYTHON } from '../python/interpreter.ts';
import { decide } from './visitor.ts';

const PROGRAM = fileURLToPath(new URL('python/mcp_client.py', import.meta.url));
const REQUIREMENTS = fileURLToPath(new URL('python/requirements.txt', import.meta.url));
const MINUTES = 60_000;

const packages: Packages = NO_PYTHON ? { missing: NO_PYTHON } : await downloadPythonPackages(REQUIREMENTS);
const site = packages.wheels ? await installPythonPackages(packages.wheels, REQUIREMENTS) : '';
const server = await startTestServer({ DYNAMIC_REGISTRATION: 'on' });
await server.addInvoice(server.acme, { number: 'INV-2001' });

for (const [mode, revision] of [
  ['auto', '2026-07-28'],
  ['legacy', '2025-11-25'],
]) {
  test(`the official Python client needs only the URL, and calls tools of revision ${revision}`, {
    skip: packages.missing,
  }, async () => {
    const env = { MCP_URL: `${server.api}/mcp`, MCP_MODE: String(mode), PYTHONPATH: site };
    const child = spawn('python3', [PROGRAM], { env: { ...process.env, ...env }, timeout: 3 * MINUTES });
    const [ended, errors] = [once(child, 'close'), text(child.stderr)];
    const lines: Record<string, unknown>[] = [];
    for await (const line of createInterface(child.stdout)) {
      const said: Record<string, unknown> = JSON.parse(line);
      lines.push(said);
      if (typeof said.open === 'string') child.stdin.write(`${await decide(server, said.open)}\n`);
    }
    await ended;

    const [asked, result, ...more] = lines;
    assert.equal(child.exitCode, 0, await errors);
    assert.equal(new URL(String(asked?.open)).searchParams.get('resource'), env.MCP_URL);
    const { client, tools, ...seen } = result ?? {};
    assert.deepEqual(seen, { revision, business: 'Acme', invoices: ['INV-2001'] });
    assert.match(String(client), /^dyn_/);
    assert.ok(Number(tools) > 30);
    assert.deepEqual(more, []);
  });
}
