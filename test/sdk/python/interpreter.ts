import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export const LIBRARY = fileURLToPath(new URL('../../../sdk/python', import.meta.url));

/** The reason to skip these tests, or false. */
export const NO_PYTHON = isOldOrMissing('import sys; sys.exit(sys.version_info < (3, 10))')
  ? 'there is no python3 of version 3.10 or newer on the PATH'
  : false;

export interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs Python without blocking this process. A hanging run is killed, and fails. */
export async function runPython(args: string[], cwd: string, env: Record<string, string> = {}): Promise<Ended> {
  const child = spawn('python3', args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PYTHONDONTWRITEBYTECODE: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 180_000,
    killSignal: 'SIGKILL',
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { status: child.exitCode, stdout, stderr };
}

function isOldOrMissing(program: string): boolean {
  return spawnSync('python3', ['-c', program], { stdio: 'ignore' }).status !== 0;
}
