import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/ports.ts';
import { packAndInstall } from './install.ts';

/** As the Compose file has them in a checkout of an operator. */
const secrets = fileURLToPath(new URL('../../deploy/secrets/', import.meta.url));
const isNew = mkdirSync(secrets, { recursive: true }) !== undefined;
writeFileSync(join(secrets, 'package-test.txt'), 'a secret of the Compose file');
const installed = packAndInstall();
rmSync(isNew ? secrets : join(secrets, 'package-test.txt'), { recursive: true });
const { folder, root } = installed;
const program = join(root, 'gatehouse.js');
const sizes = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((file) => file.isFile())
  .map(({ parentPath, name }) => statSync(join(parentPath, name)).size);
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

const api = `http://127.0.0.1:${await freePort()}`;
const web = `http://localhost:${await freePort()}`;
const env = {
  PATH: installed.env.PATH,
  BASE_URL: api,
  CONSENT_URL: web,
  DATABASE_URL: `sqlite:${join(folder, 'gatehouse.db')}`,
  SECRET_KEYS: 'a-key-that-only-this-test-of-the-package-uses',
  LOG_LEVEL: 'warn',
};
/** Receives the traces of the server. */
const collected: (string | undefined)[] = [];
const collector = createServer((request, response) => {
  collected.push(request.url);
  request.resume();
  response.end();
}).listen(0, '127.0.0.1');
await once(collector, 'listening');
const command = join(folder, 'node_modules', '.bin', 'gatehouse');
const { port } = collector.address() as AddressInfo;
const tracing = { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };
const server = spawn(command, ['serve'], { cwd: folder, env: tracing, stdio: ['ignore', 'inherit', 'pipe'] });
after(async () => {
  server.kill('SIGKILL');
  collector.close();
  rmSync(dirname(folder), { recursive: true });
});
const errors: string[] = [];
server.stderr.setEncoding('utf8').on('data', (text) => errors.push(text));
while (!errors.join('').includes('Gatehouse serves')) await once(server.stderr, 'data');

test('the file is named after its version', () => {
  assert.equal(basename(installed.tarball), `gatehouse-${version}.tgz`);
  assert.equal(installed.npx(['--version']), `gatehouse ${version} (Node ${process.version})\n`);
});

test('the package is small, and has no dependencies', () => {
  const packages = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'));
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

  assert.ok(sizes.reduce((sum, size) => sum + size, 0) < 15_000_000);
  assert.deepEqual(packages, ['gatehouse']);
  assert.deepEqual([manifest.dependencies, manifest.scripts], [undefined, undefined]);
});

test('every link and picture of a page in the package leads to a file in it, or to this version in the repository', () => {
  const pages = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'));
  const targets = pages.flatMap((page) => {
    // Code contains no links.
    const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```.*?^```$|`[^`\n]*`/gms, '');
    const found = text.matchAll(/(?:\]\(|\s(?:src|srcset|href)=")([^)\s"#]+)/g);
    return [...found].map(([, target = '']) => ({ page, target }));
  });
  const repository = `https://github.com/gatehouse/gatehouse/`;
  const checkout = fileURLToPath(new URL('../../', import.meta.url));
  const isThere = ({ page, target }: { page: string; target: string }) => {
    const [, path] = target.split(new RegExp(`^${repository}(?:blob|raw)/v${version}/`));
    if (path !== undefined) return existsSync(join(checkout, path)) && !existsSync(join(root, path));
    return /^https?:/.test(target) || existsSync(join(root, dirname(page), target));
  };

  assert.deepEqual(
    targets.filter((each) => !isThere(each)),
    [],
  );
  const ofReadme = targets.filter(({ page }) => page === 'README.md').map(({ target }) => target);
  assert.ok(ofReadme.includes(`${repository}raw/v${version}/docs/pictures/film.webp`));
  assert.ok(ofReadme.includes('docs/guides/run-in-production.md'));
});

test('the Compose file in the package builds nothing', () => {
  assert.doesNotMatch(readFileSync(join(root, 'deploy', 'compose.yaml'), 'utf8'), /^\s*build:/m);
});

test('the package contains the systemd unit, and no secrets of the Compose file', () => {
  assert.deepEqual(readdirSync(join(root, 'deploy', 'systemd')), ['gatehouse-command.sh', 'gatehouse.service']);
  assert.equal(existsSync(join(root, 'deploy', 'secrets')), false);
});

test('the package contains the licences of the packages in it, and an SBOM', () => {
  const sbom = JSON.parse(readFileSync(join(root, 'sbom.cdx.json'), 'utf8'));
  const notices = readFileSync(join(root, 'THIRD-PARTY-NOTICES.txt'), 'utf8');

  assert.equal(sbom.metadata.component.version, version);
  for (const { name } of sbom.components) assert.ok(name === 'client' || notices.includes(`${name} `), name);
});

test('npm pack at the root says which command makes the package', () => {
  const { status, stderr } = spawnSync('npm', ['pack', '--dry-run'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    encoding: 'utf8',
  });

  assert.notEqual(status, 0);
  assert.match(stderr, /^The package is built in dist\/: run npm run package\.$/m);
});

test('the package contains no tests, and no TypeScript', () => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' });

  assert.deepEqual(
    files.filter((file) => /\.ts$|test/.test(file.replace('docs/guides/test-your-integration.md', ''))),
    [],
  );
});

test('the package serves the API, its document and the guides', async () => {
  for (const path of ['/readyz', '/openapi.json', '/docs', '/docs/guides/connect-your-app', '/docs/sdk/typescript']) {
    assert.equal((await fetch(api + path)).status, 200, path);
  }
});

test('the package serves the script of the API reference as a compressed file', async () => {
  const page = await (await fetch(`${api}/docs`)).text();
  const [script = ''] = /\/assets\/scalar\.js[^"]*/.exec(page) ?? [];

  const response = await fetch(api + script, { headers: { 'accept-encoding': 'br' } });

  assert.equal(response.headers.get('content-encoding'), 'br');
  assert.match(response.headers.get('content-type') ?? '', /^(?:text|application)\/javascript/);
  assert.match(await response.text(), /createApiReference/);
});

test('the package serves pages with their stylesheet', async () => {
  const page = await (await fetch(`${web}/sign-in`)).text();
  const [stylesheet = ''] = /\/assets\/gatehouse\.css[^"]*/.exec(page) ?? [];

  assert.equal((await fetch(web + stylesheet)).headers.get('content-type'), 'text/css; charset=utf-8');
});

test('a command of the package writes to the same database', () => {
  const made = JSON.parse(installed.npx(['business', 'add', '--name', 'Harbour Coffee', '--json'], env));

  assert.equal(made.name, 'Harbour Coffee');
});

test('a stack trace names files of src and their lines', () => {
  const broken = `data:text/javascript,import crypto from 'node:crypto'; import { syncBuiltinESMExports } from 'node:module';
    crypto.randomUUID = () => { throw new Error('No randomness.'); }; syncBuiltinESMExports();`;
  const args = ['--import', broken, program, 'business', 'add', '--name', 'Acme'];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' });

  assert.equal(status, 1);
  assert.match(stderr, /^Error: No randomness\.\n/);
  const [, line = ''] = /at newId \(src\/lib\/ids\.ts:(\d+):\d+\)/.exec(stderr) ?? [];
  const source = readFileSync(new URL('../../src/lib/ids.ts', import.meta.url), 'utf8').split('\n');
  assert.match(source[Number(line) - 1] ?? '', /randomUUID\(\)/, stderr);
});

const OLD_NODE =
  "data:text/javascript,Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } });";
const runOnOldNode = () =>
  spawnSync(process.execPath, ['--import', OLD_NODE, program, '--version'], { encoding: 'utf8' });

test('on an old Node, the command says which one it needs', () => {
  const { status, stdout, stderr } = runOnOldNode();

  assert.deepEqual([status, stdout], [1, '']);
  assert.equal(stderr, 'Gatehouse needs Node 26 or newer, and this is Node 20.1.0.\n');
});

test('on an old Node, the command runs on the Node that npm installed with the package', () => {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const [name = ''] = Object.keys(optionalDependencies);
  const binaries = join(folder, 'node_modules', name, 'bin');
  mkdirSync(binaries, { recursive: true });
  symlinkSync(process.execPath, join(binaries, basename(process.execPath)));

  assert.equal(runOnOldNode().stdout, `gatehouse ${version} (Node ${process.version})\n`);
});

test('the server limits its heap, however it is started', { skip: process.platform === 'win32' }, () => {
  const args = execFileSync('ps', ['-o', 'args=', '-p', String(server.pid)], { encoding: 'utf8' });

  assert.match(args, / --max-semi-space-size=16 --heap-growing-percent=80 .*gatehouse serve/);
});

test('the server sends its traces, and stops on its signal', async () => {
  const ended = once(server, 'exit');
  server.kill('SIGTERM');

  assert.deepEqual(await ended, [0, null]);
  assert.equal(collected[0], '/v1/traces');
});

test('the demo runs in an empty folder, and stores its data there', async () => {
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const webPort = await freePort();
  const own = { PATH: env.PATH, BASE_URL: api, CONSENT_URL: `http://localhost:${webPort}` };
  const demo = spawn(command, ['demo'], { cwd: empty, env: own, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(demo, 'exit');
  try {
    const [welcome] = await Promise.race([once(demo.stdout.setEncoding('utf8'), 'data'), ended]);

    assert.match(String(welcome), /Gatehouse is running/);
    assert.equal((await fetch(`http://127.0.0.1:${webPort + 1}`)).status, 200);
    assert.deepEqual(readdirSync(empty), ['data']);
  } finally {
    demo.kill('SIGINT');
  }
  assert.deepEqual(await ended, [0, null]);
});
