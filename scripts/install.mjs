#!/usr/bin/env node
// The first step of the npm scripts, on whatever Node the machine has (20 or newer). Installs the packages of the lock file, the
// pinned Node among them, if they are missing or older than the lock file; `install.mjs test` also those of test/. The command
// after it then finds that Node first on PATH: a shell looks it up anew, since it started this file and not `node`.
import { spawnSync } from 'node:child_process';
import { lstatSync, readFileSync, statSync } from 'node:fs';

const ROOT = new URL('..', import.meta.url);

const isInstalled = install(ROOT, 'package-lock.json');
// Once the pinned Node is there, this script runs on it too.
checkNode(isInstalled ? findNode() : process.version);
for (const name of process.argv.slice(2)) install(new URL(`${name}/`, ROOT), `${name}/package-lock.json`);

/** Returns whether anything had to be installed. */
function install(folder, lockFile) {
  // `npm ci` empties the folder first; a symbolic link leads to the folder of another checkout.
  const isLinked = lstatSync(new URL('node_modules', folder), { throwIfNoEntry: false })?.isSymbolicLink();
  const changedAt = (file) => statSync(new URL(file, folder), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (isLinked || changedAt('node_modules/.package-lock.json') >= changedAt('package-lock.json')) return false;
  console.error(`Installing the packages of ${lockFile} (once; about half a minute)…`);
  const npm = spawnSync('npm ci --no-audit --no-fund', { cwd: folder, shell: true, stdio: ['ignore', 2, 2] });
  if (npm.status !== 0) fail('npm ci failed: see the lines above.');
  return true;
}

/** npm skips an optional package that is not for this platform, or that it could not download. */
function checkNode(version) {
  const { optionalDependencies } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));
  const [pinned] = Object.values(optionalDependencies);
  if (major(version) >= major(`v${pinned}`)) return;
  fail(
    `Gatehouse needs Node ${major(`v${pinned}`)}. npm installed none for ${process.platform} on ${process.arch}, and ` +
      `the Node on PATH is ${version || 'missing'}. Run npm ci again; if that does not help, install Node ${pinned} yourself.`,
  );
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
