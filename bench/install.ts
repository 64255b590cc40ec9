import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';

/** Installed at the first benchmark, because nothing else needs them. */
export function installPeers(): void {
  if (changedAt('node_modules/.package-lock.json') >= changedAt('package-lock.json')) return;
  console.error('Installing the packages of bench/package-lock.json (once, about half a minute)…');
  const { status } = spawnSync('npm ci --no-audit --no-fund --loglevel=error', {
    cwd: new URL('.', import.meta.url),
    shell: true,
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new Error('npm ci failed in bench/: see the output above.');
}

function changedAt(file: string): number {
  return statSync(new URL(file, import.meta.url), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
