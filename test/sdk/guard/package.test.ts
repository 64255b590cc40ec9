import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { startTestServer } from '../../support/test-server.ts';
import { createFolder, ROOT, run, TSC } from '../typescript/build.ts';

const LIBRARY = join(ROOT, 'sdk/guard');
const server = await startTestServer();
const platform = await server.addApp({ name: 'Platform API' });
await server.listForIntrospection(platform);
const consumer = await installPackage();

/** Packs the library, and installs the tarball in another folder. */
async function installPackage(): Promise<string> {
  const [packed, folder] = [createFolder(), createFolder()];
  const offline = ['--offline', '--no-audit', '--no-fund', '--loglevel=error', '--cache', createFolder()];
  await run('npm', ['pack', '--pack-destination', packed, ...offline], LIBRARY);
  const [tarball = ''] = readdirSync(packed);
  assert.equal(tarball, 'gatehouse-guard-0.1.0.tgz');
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  await run('npm', ['install', join(packed, tarball), ...offline], folder);
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  for (const path of ['node_modules/fastify', 'test/node_modules/express', 'test/node_modules/@types'])
    symlinkSync(join(ROOT, path), join(folder, 'node_modules', basename(path)));
  return folder;
}

test('the package contains the built library, its types, README and licence, and has no dependencies', () => {
  const folder = join(consumer, 'node_modules/@gatehouse/guard');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const built = ['esm', 'cjs'].flatMap((kind) => [
    `dist/${kind}`,
    ...readdirSync(join(LIBRARY, 'src')).flatMap((name) =>
      ['.d.ts', '.js'].map((ending) => `dist/${kind}/${name.replace(/\.ts$/, ending)}`),
    ),
  ]);
  const manifest = JSON.parse(readFileSync(join(LIBRARY, 'package.json'), 'utf8'));

  const rest = ['LICENSE', 'README.md', 'dist', 'dist/cjs/package.json', 'package.json'];
  assert.deepEqual(files, [...rest, ...built].sort());
  assert.deepEqual([manifest.dependencies, manifest.license], [undefined, 'MIT']);
  assert.equal(manifest.repository.directory, 'sdk/guard');
  assert.equal(readFileSync(join(folder, 'LICENSE'), 'utf8'), readFileSync(join(ROOT, 'LICENSE'), 'utf8'));
});

const CHECK = `
const [options, headers] = JSON.parse(process.argv[2]);
createGuard(options).check(headers, 'read:invoices').then(({ businessId }) => console.log(businessId));
`;

for (const [kind, file, load] of [
  ['an ES module', 'main.js', "import { createGuard } from '@gatehouse/guard';"],
  ['CommonJS', 'main.cjs', "const { createGuard } = require('@gatehouse/guard');"],
] as const) {
  test(`the installed package works from ${kind}, and prints nothing of its own`, async () => {
    const { access_token } = await server.connect();
    const options = { issuer: server.api, clientId: platform.id, clientSecret: platform.secret };
    const headers = { authorization: `Bearer ${access_token}`, 'x-business-id': server.acme.id };
    writeFileSync(join(consumer, file), load + CHECK);

    const printed = await run(process.execPath, [file, JSON.stringify([options, headers])], consumer);

    assert.equal(printed, `${server.acme.id}\n`);
  });
}

const TYPED = `
import { type Access, createGuard } from '@gatehouse/guard';
import express from 'express';
import fastify from 'fastify';

const guard = createGuard({ issuer: 'https://api.example.com', clientId: 'id', clientSecret: 'secret' });
const app = fastify();
app.get('/', { preHandler: guard.fastify('read:invoices') }, async (request) => guard.accessOf(request));
app.get('/early', { onRequest: [guard.fastify('read:invoices')] }, async (request) => guard.accessOf(request).userId);
app.addHook('onRequest', guard.fastify('read:invoices'));
express().get('/', guard.express('read:invoices'), (request, response) => {
  response.json(guard.accessOf(request));
});
export const access: Promise<Access> = guard.check(new Headers(), 'read:invoices');
// @ts-expect-error: a handler cannot change what the cache holds.
access.then(({ scopes }) => scopes.push('write:invoices'));
`;

for (const [name, options] of [
  ['module nodenext', { module: 'nodenext' }],
  ['moduleResolution bundler', { module: 'esnext', moduleResolution: 'bundler' }],
] as const) {
  test(`the middleware fits the types of Fastify and Express: ${name}`, async () => {
    const types = { types: ['node'], skipLibCheck: true, esModuleInterop: true };
    const compilerOptions = { strict: true, noEmit: true, exactOptionalPropertyTypes: true, target: 'es2022' };
    writeFileSync(join(consumer, 'typed.ts'), TYPED);
    const config = { compilerOptions: { ...compilerOptions, ...types, ...options }, files: ['typed.ts'] };
    writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify(config));
    await run(TSC, [], consumer);
  });
}
