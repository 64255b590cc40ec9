import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const REQUIREMENTS = fileURLToPath(new URL('../../sdk/python/requirements-dev.txt', import.meta.url));
export const CACHE = fileURLToPath(new URL('../../node_modules/.cache/gatehouse-python', import.meta.url));
/** pip's messages if it cannot reach the index. Any other failure, such as a wrong hash, is an error. */
const UNREACHABLE = /No matching distribution found|NewConnectionError|ConnectTimeoutError|Temporary failure in name/;

export type Packages = { wheels: string; missing: false } | { wheels?: undefined; missing: string };

/** Downloads the pinned packages of a requirements file as wheels, verifies their hashes, and caches them. */
export async function downloadPythonPackages(requirements = REQUIREMENTS): Promise<Packages> {
  const version = readPipVersion();
  if (!version) return { missing: NO_PIP };
  const wheels = join(CACHE, `wheels-${digestOf(version, requirements)}`);
  if (existsSync(wheels)) return { wheels, missing: false };

  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'download-'));
  const options = ['--require-hashes', '--only-binary', ':all:', '--requirement', requirements, '--dest', folder];
  const { status, stderr } = await pip(['download', ...options]);
  if (status !== 0) {
    rmSync(folder, { recursive: true });
    if (!UNREACHABLE.test(stderr)) throw new Error(`pip download failed:\n${stderr}`);
    return { missing: 'the Python package index cannot be reached' };
  }
  try {
    renameSync(folder, wheels);
  } catch (error) {
    // Another process was faster.
    rmSync(folder, { recursive: true });
    if (!existsSync(wheels)) throw error;
  }
  return { wheels, missing: false };
}

/** Installs the packages in a folder for PYTHONPATH. pyproject.toml names the same folder. */
export async function installPythonPackages(wheels: string, requirements = REQUIREMENTS): Promise<string> {
  const site = join(CACHE, requirements === REQUIREMENTS ? 'site' : `site-${digestOf('', requirements)}`);
  const stamp = join(site, 'installed-from');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wheels) return site;
  rmSync(site, { recursive: true, force: true });
  const offline = ['--no-index', '--find-links', wheels, '--target', site, '--requirement', requirements];
  const { status, stderr } = await pip(['install', ...offline]);
  if (status !== 0) throw new Error(`pip install failed:\n${stderr}`);
  writeFileSync(stamp, wheels);
  return site;
}

export const NO_PIP = 'there is no python3 with pip on the PATH';

/** Includes the version of Python. Empty without pip. */
export function readPipVersion(): string {
  return spawnSync('python3', ['-m', 'pip', '--version'], { encoding: 'utf8' }).stdout ?? '';
}

export async function pip(args: string[]): Promise<{ status: number | null; stderr: string }> {
  const child = spawn('python3', ['-m', 'pip', '--quiet', '--disable-pip-version-check', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return { status: child.exitCode, stderr };
}

export function digestOf(python: string, requirements: string): string {
  return createHash('sha256').update(python).update(readFileSync(requirements)).digest('hex').slice(0, 16);
}
