import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface InstalledPackage {
  /** A folder with only node_modules and npm's files. */
  folder: string;
  tarball: string;
  /** The installed package. */
  root: string;
  /** The environment of a shell in which the pinned Node is on PATH. */
  env: NodeJS.ProcessEnv;
  npx(args: string[], env?: NodeJS.ProcessEnv): string;
}

/** Runs `npm run package`, and then `npm install` of the file, without the network. */
export function packAndInstall(): InstalledPackage {
  const temporary = mkdtempSync(join(tmpdir(), 'gatehouse-package-'));
  const folder = join(temporary, 'operator');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'));
  const env = {
    ...Object.fromEntries(inherited),
    PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
    npm_config_cache: join(temporary, 'cache'),
    npm_config_update_notifier: 'false',
  };
  const run = (command: string, args: string[], cwd: string, more = {}) =>
    execFileSync(command, args, { cwd, env: { ...env, ...more }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const [file = ''] = run('npm', ['run', '--silent', 'package', '--', '--pack-destination', temporary], ROOT)
    .trim()
    .split('\n')
    .slice(-1);
  const tarball = join(temporary, file);
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], folder);
  return {
    folder,
    tarball,
    root: join(folder, 'node_modules', 'gatehouse'),
    env,
    npx: (args, more) => run('npx', ['--offline', 'gatehouse', ...args], folder, more),
  };
}
