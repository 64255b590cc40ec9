// Runs before `start`, `test`, `check` and `gatehouse`, on whatever Node the machine has (20 or newer): brings what the lock file names,
// the pinned Node included, when it is missing or older than the lock file.
import { spawnSync } from 'node:child_process';
import { lstatSync, statSync } from 'node:fs';

const root = new URL('..', import.meta.url);
const installed = changedAt('node_modules/.package-lock.json');

// `npm ci` empties the folder first; one that is only linked to belongs to another checkout.
const isLinked = lstatSync(new URL('node_modules', root), { throwIfNoEntry: false })?.isSymbolicLink();

if (!isLinked && installed < changedAt('package-lock.json')) {
  console.error('Installing what package-lock.json names (once; about half a minute)…');
  const npm = spawnSync('npm ci --no-audit --no-fund --loglevel=error', {
    cwd: root,
    shell: true,
    stdio: ['ignore', 2, 2],
  });
  if (npm.status !== 0) {
    console.error('npm ci failed: see the lines above.');
    process.exit(1);
  }
}

function changedAt(file) {
  return statSync(new URL(file, root), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
