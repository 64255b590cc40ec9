import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/ports.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-package-'));
const program = join(folder, 'dist', 'gatehouse.js');
const build = fileURLToPath(new URL('../../scripts/build.ts', import.meta.url));
execFileSync(process.execPath, [build, '--out', join(folder, 'dist')], { stdio: 'inherit' });

const api = `http://127.0.0.1:${await freePort()}`;
const web = `http://localhost:${await freePort()}`;
const env = {
  BASE_URL: api,
  CONSENT_URL: web,
  DATABASE_URL: `sqlite:${join(folder, 'gatehouse.db')}`,
  SECRET_KEYS: 'a-key-that-only-this-test-of-the-package-uses',
  LOG_LEVEL: 'warn',
};
const server = spawn(process.execPath, [program, 'serve'], { cwd: folder, env, stdio: ['ignore', 'inherit', 'pipe'] });
after(async () => {
  server.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});
const errors: string[] = [];
server.stderr.setEncoding('utf8').on('data', (text) => errors.push(text));
while (!errors.join('').includes('Gatehouse serves')) await once(server.stderr, 'data');

test('the bundle serves the API, its document and the guides', async () => {
  for (const path of ['/readyz', '/openapi.json', '/docs', '/docs/guides/connect-your-app', '/docs/sdk/typescript']) {
    assert.equal((await fetch(api + path)).status, 200, path);
  }
});

test('the bundle serves the script of the API reference as a compressed file', async () => {
  const page = await (await fetch(`${api}/docs`)).text();
  const [script = ''] = /\/assets\/scalar\.js[^"]*/.exec(page) ?? [];

  const response = await fetch(api + script, { headers: { 'accept-encoding': 'br' } });

  assert.equal(response.headers.get('content-encoding'), 'br');
  assert.match(response.headers.get('content-type') ?? '', /^(?:text|application)\/javascript/);
  assert.match(await response.text(), /createApiReference/);
});

test('the bundle is small', () => {
  const files = readdirSync(join(folder, 'dist'), { recursive: true, withFileTypes: true }).filter((file) =>
    file.isFile(),
  );
  const bytes = files.map(({ parentPath, name }) => statSync(join(parentPath, name)).size);

  assert.ok(bytes.reduce((sum, size) => sum + size, 0) < 15_000_000);
});

test('the bundle serves pages with their stylesheet', async () => {
  const page = await (await fetch(`${web}/sign-in`)).text();
  const [stylesheet = ''] = /\/assets\/gatehouse\.css[^"]*/.exec(page) ?? [];

  assert.equal((await fetch(web + stylesheet)).headers.get('content-type'), 'text/css; charset=utf-8');
});

test('a command of the bundle writes to the same database', () => {
  const args = ['business', 'add', '--name', 'Harbour Coffee', '--json'];
  const made = JSON.parse(execFileSync(process.execPath, [program, ...args], { cwd: folder, env, encoding: 'utf8' }));

  assert.equal(made.name, 'Harbour Coffee');
});

test('the server limits its heap, however it is started', { skip: process.platform === 'win32' }, () => {
  const command = execFileSync('ps', ['-o', 'args=', '-p', String(server.pid)], { encoding: 'utf8' });

  assert.match(command, / --max-semi-space-size=16 --heap-growing-percent=40 .*gatehouse\.js serve/);
});

test('the server of the bundle stops on its signal', async () => {
  const ended = once(server, 'exit');
  server.kill('SIGTERM');

  assert.deepEqual(await ended, [0, null]);
});
