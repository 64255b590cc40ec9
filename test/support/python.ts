import { spawnSync } from 'node:child_process';

/** Why nothing of Python can be shown here, or false where it can. */
export function missingPython({ pip = false } = {}): string | false {
  const check = `import sys${pip ? ', pip' : ''}; sys.exit(sys.version_info < (3, 10))`;
  const { status } = spawnSync('python3', ['-c', check]);
  return status === 0 ? false : `there is no python3 (3.10 or newer${pip ? ', with pip' : ''}) on this machine`;
}
