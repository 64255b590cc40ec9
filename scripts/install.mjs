// Runs before the npm scripts, on whatever Node the machine has (20 or newer). Installs the packages of the lock file, the
// pinned Node among them, if they are missing or older than the lock file. The script after it then finds that Node first on PATH.
import { spawnSync } from 'node:child_process';
import { lstatSync, readFileSync, statSync } from 'node:fs';

const root = new URL('..', import.meta.url);
const installed = changedAt('node_modules/.package-lock.json');

// `npm ci` empties the folder first; a symbolic link leads to the folder of another checkout.
const isLinked = lstatSync(new URL('node_modules', root), { throwIfNoEntry: false })?.isSymbolicLink();

const isOutdated = !isLinked && installed < changedAt('package-lock.json');

if (isOutdated) {
  console.error('Installing the packages of package-lock.json (once; about half a minute)…');
  const npm = spawnSync('npm ci --no-audit --no-fund', { cwd: root, shell: true, stdio: ['ignore', 2, 2] });
  if (npm.status !== 0) fail('npm ci failed: see the lines above.');
}
// Once the pinned Node is there, this script runs on it too.
checkNode(isOutdated ? findNode() : process.version);

/** npm skips an optional package that is not for this platform, or that it could not download. */
function checkNode(version) {
  const { optionalDependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  const [pinned] = Object.values(optionalDependencies);
  if (major(version) >= major(`v${pinned}`)) return;
  fail(
    `Gatehouse needs Node ${major(`v${pinned}`)}. npm installed none for ${process.platform} on ${process.arch}, and ` +
      `the Node on PATH is ${version || 'missing'}. Run npm ci again; if that does not help, install Node ${pinned} yourself.`,
  );
}

function findNode() {
  return spawnSync('node --version', { cwd: root, shell: true, encoding: 'utf8' }).stdout.trim();
}

function major(version) {
  return Number.parseInt(version.slice(1), 10) || 0;
}

function changedAt(file) {
  return statSync(new URL(file, root), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}
