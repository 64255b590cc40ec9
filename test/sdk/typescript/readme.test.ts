import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../../support/ports.ts';
import { newWorld } from '../../support/world.ts';
import { buildLibrary, LIBRARY, newFolder, ROOT, run, TSC } from './build.ts';
import { visit } from './connected.ts';

const readme = readFileSync(join(LIBRARY, 'README.md'), 'utf8');
const folder = newFolder();
const installed = join(folder, 'node_modules/@gatehouse/client');
mkdirSync(installed, { recursive: true });
cpSync(await buildLibrary(), join(installed, 'dist'), { recursive: true });
cpSync(join(LIBRARY, 'package.json'), join(installed, 'package.json'));
const world = await newWorld();

function blocksOf(language: string): string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) => code);
}

test('the five minutes of the README work as they are written, but for the two addresses', async () => {
  const port = await freePort();
  const redirectUris = [`http://localhost:${port}/callback`];
  const app = await world.addApp({ ownerBusinessId: world.acme.id, scopes: ['read:invoices'], redirectUris });
  await world.addInvoice(world.acme, { number: 'INV-7', total: '1234.50' });
  const [program = ''] = blocksOf('js');
  const here = program.replace('https://api.example.com', world.api).replaceAll('8080', String(port));
  writeFileSync(join(folder, 'app.mjs'), here);
  const env = { PATH: process.env.PATH, CLIENT_ID: app.id, CLIENT_SECRET: app.secret };
  const running = spawn(process.execPath, ['app.mjs'], { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] });
  after(() => running.kill());

  const address = `http://localhost:${port}`;
  const begun = await reach(`${address}/connect`, running);
  const callback = await visit(world, begun.headers.get('location') ?? '');
  const [cookie = ''] = begun.headers.get('set-cookie')?.split(';') ?? [];
  const shown = await fetch(callback, { headers: { cookie } });

  assert.equal(await shown.text(), 'INV-7 1234.50 GBP\n');
  assert.match(JSON.parse(readFileSync(join(folder, 'tokens.json'), 'utf8')).refreshToken, /^grt_/);
  const foreign = await fetch(`${address}/callback?code=gac_1&state=other`, { headers: { cookie } });
  assert.deepEqual([foreign.status, (await foreign.text()).slice(0, 15)], [502, 'state_mismatch:']);
  running.kill();
  await once(running, 'exit');
});

/** The first answer of a program that has only just been started. */
async function reach(url: string, program: ChildProcess): Promise<Response> {
  while (program.exitCode === null) {
    try {
      return await fetch(url, { redirect: 'manual' });
    } catch {
      await setTimeout(20);
    }
  }
  return assert.fail(`the program runs, and has not ended with ${program.exitCode}`);
}

test('the examples of the README are sound TypeScript', async () => {
  const known = `import { type Api, type App, createApi, type Tokens } from '@gatehouse/client';
declare const app: App, api: Api, accessToken: string, userId: string;
declare const store: { read(id: string): Promise<Tokens>; write(id: string, tokens: Tokens): Promise<void> };
`;
  const blocks = blocksOf('ts');
  assert.equal(blocks.length, 3);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  for (const [i, block] of blocks.entries()) writeFileSync(join(folder, `example-${i}.ts`), known + block);
  const typeRoots = [join(ROOT, 'node_modules/@types')];
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    module: 'nodenext',
    types: ['node'],
    typeRoots,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));

  await run(TSC, [], folder);
});
