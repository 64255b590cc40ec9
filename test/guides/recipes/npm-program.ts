import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { after } from 'node:test';
import { decide } from '../../sdk/clients/visitor.ts';
import { startTestServer, type TestServer } from '../../support/test-server.ts';

/** A server with dynamic client registration, an invoice, and a folder with this npm package. */
export async function openProgram(name: string) {
  const server = await startTestServer({ DYNAMIC_REGISTRATION: 'on' });
  await server.addInvoice(server.acme, { number: 'INV-2001' });
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-recipe-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const child = spawn('npm', ['install', '--no-audit', '--no-fund', name], { cwd: folder, stdio: 'inherit' });
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error(`npm could not install ${name}.`);
  return { server, url: `${server.api}/mcp`, folder, bin: join(folder, 'node_modules/.bin') };
}

/** Signs in and allows at the authorize URL that a program prints, and follows the redirect to the program. */
export async function allowWhenAsked(server: TestServer, output: Readable): Promise<void> {
  const start = `${server.api}/api/v1/oauth/authorize?`;
  for await (const line of createInterface(output)) {
    const at = line.indexOf(start);
    if (at >= 0) await fetch(await decide(server, line.slice(at).split(/\s/, 1)[0] ?? ''));
  }
}
