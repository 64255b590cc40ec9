import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { endConnection } from '../../../src/grants/connections.ts';
import { createWorkspace, type Program } from '../../support/guides.ts';
import { freePort } from '../../support/ports.ts';
import { startTestServer } from '../../support/test-server.ts';
import { LIBRARY, ROOT, run, TSC } from './build.ts';
import { openAuthorizeUrl } from './connected.ts';

const readme = readFileSync(join(LIBRARY, 'README.md'), 'utf8');
const workspace = createWorkspace();
const server = await startTestServer();
await workspace.bash(blocksOf('sh').join('\n'), { env: { GATEHOUSE: workspace.checkout } }).waitForExit();

function blocksOf(language: string): string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) => code);
}

const registration = await server.addApp({
  ownerBusinessId: server.acme.id,
  scopes: ['read:invoices'],
  redirectUris: ['http://127.0.0.1:8080/callback'],
});
await server.addInvoice(server.acme, { number: 'INV-7', total: '1234.50' });
const port = await freePort();
const home = `http://127.0.0.1:${port}/`;

/** The quickstart of the README with a free port. */
function startApp(): Program {
  const [program = ''] = blocksOf('js');
  workspace.save('app.mjs', program.replaceAll('8080', String(port)));
  const env = { BASE_URL: server.api, CLIENT_ID: registration.id, CLIENT_SECRET: registration.secret };
  return workspace.run([process.execPath, 'app.mjs'], { env });
}

const app = startApp();

/** A program that has just started may respond late. */
async function open(url: string | URL, cookie = ''): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await fetch(url, { redirect: 'manual', headers: { cookie } });
    } catch (error) {
      if (attempt === 500) throw error;
      await setTimeout(20);
    }
  }
}

const cookieOf = (response: Response) => response.headers.get('set-cookie')?.split(';')[0] ?? '';
const shown = async (response: Response) => [
  response.status,
  response.headers.get('content-type'),
  response.headers.get('x-content-type-options'),
  await response.text(),
];
const PLAIN = ['text/plain; charset=utf-8', 'nosniff'];

async function connect(): Promise<{ callback: URL; cookies: string[] }> {
  const begun = await open(home);
  assert.equal(begun.status, 303);
  const callback = await openAuthorizeUrl(server, begun.headers.get('location') ?? '');
  // Reloads before the first response has arrived.
  const responses = await Promise.all([1, 2].map(() => open(callback, cookieOf(begun))));
  for (const { status, headers } of responses) assert.deepEqual([status, headers.get('location')], [303, '/']);
  return { callback, cookies: responses.map(cookieOf).filter((cookie) => cookie !== '') };
}

test('the quickstart of the README lists the invoices, and a callback that is loaded twice sends its code once', async () => {
  const { callback, cookies } = await connect();
  assert.equal(cookies.length, 1);
  const [cookie = ''] = cookies;
  assert.equal((await open(callback, cookie)).headers.get('location'), '/');

  assert.deepEqual(await shown(await open(home, cookie)), [200, ...PLAIN, 'INV-7 1234.50 GBP\n']);
});

test('the quickstart of the README rejects a callback that another browser began, and keeps working', async () => {
  const begun = await open(home);
  const foreign = await open(`${home}callback?code=gac_1&state=other`, cookieOf(begun));

  const [status, type, sniffing, text] = await shown(foreign);
  assert.deepEqual([status, type, sniffing], [502, ...PLAIN]);
  assert.match(String(text), /^state_mismatch: /);
  assert.deepEqual(await shown(await open(`${home}favicon.ico`)), [404, ...PLAIN, 'Not found.\n']);
});

test('the quickstart of the README starts over when the grant has ended', async () => {
  const [cookie = ''] = (await connect()).cookies;
  const parties = { userId: server.ada.id, appId: registration.id, businessId: server.acme.id };
  await endConnection(server.storage().durable, parties, 'disconnected_by_user', server.clock());

  const ended = await open(home, cookie);
  assert.deepEqual([ended.status, ended.headers.get('location')], [303, '/']);
  const again = await open(home, cookie);
  assert.ok(again.headers.get('location')?.startsWith(`${server.api}/api/v1/oauth/authorize?`));
  app.stop();
});

const known = `import { type Api, type App, createApi, type Tokens } from '@gatehouse/client';
declare const app: App, api: Api, baseUrl: string, accessToken: string, userId: string, businessId: string;
declare let lastId: string | undefined;
declare const store: { read(id: string): Promise<Tokens>; write(id: string, tokens: Tokens): Promise<void> };
`;

test('the examples of the README compile', async () => {
  const blocks = blocksOf('ts');
  assert.equal(blocks.length, 8);
  for (const [i, block] of blocks.entries()) workspace.save(`example-${i}.ts`, known + block);
  const typeRoots = [join(ROOT, 'node_modules/@types')];
  const checks = { strict: true, noEmit: true, target: 'es2022', module: 'nodenext', types: ['node'], typeRoots };
  workspace.save('tsconfig.json', JSON.stringify({ compilerOptions: checks, include: ['example-*.ts'] }));

  await run(TSC, [], workspace.folder);
});

test('the token file of the README is readable only by its owner, also if it replaces another one', async () => {
  const [example = ''] = blocksOf('ts').filter((block) => block.includes('writeFile'));
  const tokens = {
    accessToken: 'gat_1',
    refreshToken: 'grt_1',
    expiresAt: '2030-01-31T12:00:00.000Z',
    scopes: ['read:invoices'],
  };
  workspace.save('save.ts', `${known}${example}\nawait save(${JSON.stringify(tokens)});\n`);
  const file = join(workspace.folder, 'tokens.json');
  writeFileSync(file, 'older', { mode: 0o644 });

  await workspace.run([process.execPath, 'save.ts']).waitForExit();

  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), tokens);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(
    readdirSync(workspace.folder).filter((name) => name.startsWith('tokens')),
    ['tokens.json'],
  );
});
