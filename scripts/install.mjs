#!/usr/bin/env node
// The first step of the npm scripts, on whatever Node the machine has (20 or newer). Installs the packages of the lock file, the
// pinned Node among them, if they are missing or older than the lock file: what the product runs on, with `install.mjs dev` also
// the tools, and with `install.mjs dev test` also the packages of test/. The command after it then finds that Node first on PATH:
// a shell looks it up anew, since it started this file and not `node`.
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs';

const ROOT = new URL('..', import.meta.url);
const { dependencies = {}, devDependencies = {}, optionalDependencies } = readManifest();
const [kind, ...folders] = process.argv.slice(2);

const isInstalled = installRoot();
// Once the pinned Node is there, this script runs on it too.
checkNode(isInstalled ? findNode() : process.version);
for (const name of folders) install(new URL(`${name}/`, ROOT), `${name}/package-lock.json`);

/** Keeps the tools if they are there. */
function installRoot() {
  const hasTools = hasAll(devDependencies);
  const isComplete = hasAll(dependencies) && (hasTools || kind !== 'dev');
  return install(ROOT, 'package-lock.json', { isComplete, options: hasTools || kind === 'dev' ? '' : '--omit=dev' });
}

function hasAll(packages) {
  return Object.keys(packages).every((name) => existsSync(new URL(`node_modules/${name}`, ROOT)));
}

/** Returns whether anything had to be installed. */
function install(folder, lockFile, { isComplete = true, options = '' } = {}) {
  // `npm ci` empties the folder first; a symbolic link leads to the folder of another checkout.
  const isLinked = lstatSync(new URL('node_modules', folder), { throwIfNoEntry: false })?.isSymbolicLink();
  const changedAt = (file) => statSync(new URL(file, folder), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const isNewer = changedAt('node_modules/.package-lock.json') >= changedAt('package-lock.json');
  if (isLinked || (isComplete && isNewer)) return false;
  console.error(`Installing the packages of ${lockFile}, once; it can take a minute …`);
  const npm = spawnSync(`npm ci --no-audit --no-fund ${options}`, {
    cwd: folder,
    shell: true,
    stdio: ['ignore', 2, 2],
  });
  if (npm.status !== 0) fail('npm ci failed: see the lines above.');
  return true;
}

/** npm skips an optional package that is not for this platform, or that it could not download. */
function checkNode(version) {
  const [pinned] = Object.values(optionalDependencies);
  if (major(version) >= major(`v${pinned}`)) return;
  fail(
    `Gatehouse needs Node ${major(`v${pinned}`)}. npm installed none for ${process.platform} on ${process.arch}, and ` +
      `the Node on PATH is ${version || 'missing'}. Run npm ci again; if that does not help, install Node ${pinned} yourself.`,
  );
}

function readManifest() {
  return JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));
}

function findNode() {
  return spawnSync('node --version', { cwd: ROOT, shell: true, encoding: 'utf8' }).stdout.trim();
}

function major(version) {
  return Number.parseInt(version.slice(1), 10) || 0;
}

function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}
