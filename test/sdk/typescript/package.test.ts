import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { VERSION } from '../../../sdk/typescript/src/version.ts';
import { startTestServer } from '../../support/test-server.ts';
import { createFolder, LIBRARY, ROOT, run, TSC } from './build.ts';
import { connect, expired } from './connected.ts';

const server = await startTestServer();
await server.addInvoice(server.acme, { number: 'INV-7', total: '1234.50' });
const consumer = await installPackage();
const nodes = await findNodes();

/** Packs the library, and installs the tarball in another folder. */
async function installPackage(): Promise<string> {
  const [packed, folder] = [createFolder(), createFolder()];
  const offline = ['--offline', '--no-audit', '--no-fund', '--loglevel=error', '--cache', createFolder()];
  await run('npm', ['pack', '--pack-destination', packed, ...offline], LIBRARY);
  const [tarball = ''] = readdirSync(packed);
  assert.equal(tarball, 'gatehouse-client-0.1.0.tgz');
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  await run('npm', ['install', join(packed, tarball), ...offline], folder);
  return folder;
}

/** The Node that runs the tests, and every other version on PATH. */
async function findNodes(): Promise<Map<string, string>> {
  const found = new Map([[process.version, process.execPath]]);
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const node = join(folder, 'node');
    if (!statSync(node, { throwIfNoEntry: false })?.isFile()) continue;
    const version = (await run(node, ['--version'], consumer)).trim();
    if (Number.parseInt(version.slice(1), 10) >= 20 && !found.has(version)) found.set(version, node);
  }
  return found;
}

test('the package contains the built library, its types, README and licence, and nothing else', () => {
  const folder = join(consumer, 'node_modules/@gatehouse/client');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const built = ['esm', 'cjs'].flatMap((kind) => [
    `dist/${kind}`,
    ...readdirSync(join(LIBRARY, 'src')).flatMap((name) =>
      ['.d.ts', '.js'].map((ending) => `dist/${kind}/${name.replace(/\.ts$/, ending)}`),
    ),
  ]);

  const rest = ['LICENSE', 'README.md', 'dist', 'dist/cjs/package.json', 'package.json'];
  assert.deepEqual(files, [...rest, ...built].sort());
  assert.equal(readFileSync(join(folder, 'LICENSE'), 'utf8'), readFileSync(join(ROOT, 'LICENSE'), 'utf8'));
});

test('the package has the metadata that the registry shows, and no dependencies', () => {
  const manifest = readManifest(LIBRARY);

  assert.deepEqual([manifest.dependencies, manifest.license, manifest.version], [undefined, 'MIT', VERSION]);
  assert.equal(manifest.publishConfig.access, 'public');
  assert.equal(manifest.repository.directory, 'sdk/typescript');
  assert.ok(manifest.keywords.includes('oauth2'));
  for (const address of [manifest.repository.url, manifest.homepage, manifest.bugs]) {
    assert.match(address, /^(?:git\+)?https:\/\/github\.com\/gatehouse\/gatehouse/);
  }
});

test('the declarations name the built files, and never a TypeScript source', () => {
  const folder = join(consumer, 'node_modules/@gatehouse/client/dist');
  const declarations = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.d\.ts$/.test(name),
  );

  assert.ok(declarations.length > 20);
  for (const name of declarations) assert.doesNotMatch(readFileSync(join(folder, name), 'utf8'), /\.ts['"]/, name);
});

test('the folder builds standalone, with the compiler of its own lock file', async () => {
  const folder = createFolder();
  cpSync(LIBRARY, folder, { recursive: true, filter: (path) => !/\/(?:dist|node_modules)$/.test(path) });
  const { devDependencies } = readManifest(folder);
  const locked = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages;
  assert.deepEqual(devDependencies, { typescript: locked['node_modules/typescript'].version });
  assert.deepEqual(devDependencies.typescript, readManifest(ROOT).devDependencies.typescript);

  // Links the packages that `npm ci` would install, without the network.
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await run('npm', ['run', 'build'], folder);

  assert.ok(statSync(join(folder, 'dist/esm/index.d.ts')).isFile());
  assert.ok(statSync(join(folder, 'dist/cjs/index.js')).isFile());
});

function readManifest(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

const PROGRAM = `
import { createApi, createApp, GatehouseError } from '@gatehouse/client';

const { registration, tokens } = JSON.parse(process.argv[2]);
const saved = [];
const api = createApp(registration).api({ tokens, save: async (newer) => saved.push(newer) });
const [business] = await api.businesses();
const totals = [];
for await (const { number, total } of api.invoices(business.id)) totals.push([number, total]);
const bare = createApi({ baseUrl: registration.baseUrl, accessToken: saved[0].accessToken });
const { invoices } = await bare.invoicePage(business.id);
const refused = await bare.invoicePage(business.id, { status: 'LOST' }).catch((error) => error);
const isOurs = refused instanceof GatehouseError;
console.log(JSON.stringify({ business, totals, count: invoices.length, saved: saved.length, isOurs, status: refused.status }));
`;

for (const [version, node] of nodes) {
  test(`CommonJS can require the installed package on Node ${version}, without a warning`, async () => {
    const program = `
      const { createApi, GatehouseError, SCOPES } = require('@gatehouse/client');
      const api = createApi({ baseUrl: 'https://api.example.com', accessToken: 'gat_1' });
      console.log(typeof api.invoices, new GatehouseError({ code: 'timeout', description: '' }).code, SCOPES[0]);
    `;
    writeFileSync(join(consumer, 'main.cjs'), program);

    assert.equal(await run(node, ['main.cjs'], consumer), 'function timeout read:invoices\n');
  });

  test(`the installed package works on Node ${version}, and prints nothing of its own`, async () => {
    const { id: clientId, secret: clientSecret } = server.ledger;
    const redirectUri = 'https://ledger.example/callback';
    const registration = { baseUrl: server.api, clientId, clientSecret, redirectUri };
    writeFileSync(join(consumer, 'main.js'), PROGRAM);
    const facts = JSON.stringify({ registration, tokens: expired(await connect(server)) });

    const printed = await run(node, ['main.js', facts], consumer);

    assert.deepEqual(JSON.parse(printed), {
      business: { id: server.acme.id, name: 'Acme' },
      totals: [['INV-7', '1234.50']],
      count: 1,
      saved: 1,
      isOurs: true,
      status: 400,
    });
  });
}

const TYPED = `
import { type Api, type ApiResponse, createApi, createApp, GatehouseError, type Tokens } from '@gatehouse/client';

const api: Api = createApi({ baseUrl: 'https://api.example.com', accessToken: 'gat_1', fetch });
const app = createApp({ baseUrl: 'https://api.example.com', clientId: 'a', clientSecret: 'b', redirectUri: 'https://a.example/c' });
export const begin = () => app.beginAuthorization({ scopes: ['read:invoices'], optionalScopes: ['write:invoices'] });
// @ts-expect-error: there is no such scope.
export const misspelled = () => app.beginAuthorization({ scopes: ['read:invoice'] });
// @ts-expect-error: there is no such status.
export const lost = () => api.business('id').invoices.list({ status: 'LOST' });
// @ts-expect-error: nor can a record have it.
export const isLost = async () => (await api.business('id').invoices.get('id')).status === 'LOST';
export const own: Promise<ApiResponse> = api.request('/api/v1/events', { query: { limit: 2 } });
export async function sum(id: string): Promise<string[]> {
  const totals: string[] = [];
  for await (const invoice of api.invoices(id, { status: 'PAID' })) totals.push(invoice.total);
  // @ts-expect-error: a total is text, and never a float.
  const total: number = (await api.invoicePage(id)).invoices[0]?.total ?? 0;
  return [...totals, String(total)];
}
export const reasonOf = (error: unknown) => (error instanceof GatehouseError ? error.reason : undefined);
export const expiry = ({ expiresAt }: Tokens): string => expiresAt;
export const older = (tokens: Tokens) => app.api({ tokens: { ...tokens, expiresAt: 1 }, save: () => {} });
`;

const CONSUMERS: [name: string, options: Record<string, unknown>][] = [
  ['module nodenext', { module: 'nodenext', types: [] }],
  ['module node16', { module: 'node16', types: [] }],
  ['moduleResolution bundler', { module: 'esnext', moduleResolution: 'bundler', types: [] }],
  [
    'the types of Node, and none of the browser',
    { module: 'nodenext', lib: ['es2023'], types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')] },
  ],
];

for (const [name, options] of CONSUMERS) {
  test(`a program in TypeScript gets its types: ${name}`, async () => {
    const compilerOptions = {
      strict: true,
      noEmit: true,
      exactOptionalPropertyTypes: true,
      target: 'es2022',
      ...options,
    };
    // One program is an ES module, the other CommonJS.
    for (const file of ['typed.ts', 'typed.cts']) {
      writeFileSync(join(consumer, file), TYPED);
      writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));
      await run(TSC, [], consumer);
    }
  });
}
