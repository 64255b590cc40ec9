import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isIgnored, readImage, readStages } from '../../test/deploy/files.ts';
import { freePort } from '../../test/support/ports.ts';
import { waitFor } from './processes.ts';
import { CannotRun, findTool, ROOT, run } from './tools.ts';

export async function lintContainer(): Promise<string> {
  await run(await findTool('hadolint'), ['Dockerfile']);
  return 'hadolint has no findings';
}

/** Without a container engine: runs the steps of the Dockerfile, and then its command in the file system that they give. */
export async function checkContainer(): Promise<string> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) throw new CannotRun('it needs root on Linux');
  for (const tool of ['git', 'npm', 'unshare', 'setpriv', 'chroot', 'dpkg-query']) await findTool(tool);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-image-'));
  // The user of the container has to reach what is in it.
  chmodSync(folder, 0o755);
  try {
    const root = await buildRoot(folder);
    await assert.rejects(runIn(root, ['sh', '-c', 'true']), /No such file/);
    await assert.rejects(
      runIn(root, ['node', '-e', 'require("fs").writeFileSync("/gatehouse/x", "")']),
      /EROFS|EACCES/,
    );
    await checkServer(root);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return 'built in a clean copy; serves as process 1 without a shell, without rights and on a read-only file system; the health check passes; SIGTERM ends it with 0';
}

/** The file system of the image. */
async function buildRoot(folder: string): Promise<string> {
  const [work, root] = [join(folder, 'build'), join(folder, 'root')];
  const [build = []] = readStages();
  const files = (await run('git', ['ls-files', '--cached', '--others', '--exclude-standard'])).trim().split('\n');
  for (const { name, text } of build) {
    if (name === 'COPY') copy(files, text.split(' '), work);
    if (name === 'RUN') await run('sh', ['-c', text], { cwd: work, env: withoutNpm() });
  }
  await run('sh', [join(work, 'deploy/container/collect.sh'), root, process.execPath]);
  cpSync(join(work, 'dist'), join(root, 'gatehouse'), { recursive: true });
  for (const mounted of ['proc', 'dev']) mkdirSync(join(root, mounted));
  return root;
}

function copy(files: string[], args: string[], work: string): void {
  const [target = '', sources] = [args.at(-1), args.slice(0, -1)];
  for (const file of files.filter((file) => !isIgnored(file) && existsSync(join(ROOT, file)))) {
    const isWanted = sources.some((source) => source === '.' || file === source || file.startsWith(`${source}/`));
    if (!isWanted) continue;
    const to = sources.includes('.') ? file : join(target, file.split('/').at(-1) ?? '');
    mkdirSync(dirname(join(work, to)), { recursive: true });
    cpSync(join(ROOT, file), join(work, to));
  }
}

/** npm passes its settings to the scripts that it runs; those of this one are not for the copy. */
function withoutNpm(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
}

/** Mounts that only the command sees, as a container engine makes them with a read-only root. */
const ENTER = `set -e
root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount --bind "$root/data" "$root/data"
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs chroot --userspec="$USERSPEC" --groups= "$root" "$@"`;

function enter(root: string, command: string[]): string[] {
  return ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', ENTER, 'sh', root, ...command];
}

function environment(env: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { env: own, user } = readImage();
  return { ...own, ...env, USERSPEC: user, PATH: `${own.PATH}:/usr/sbin:/usr/bin:/sbin:/bin` };
}

function runIn(root: string, command: string[], env: Record<string, string> = {}): Promise<string> {
  return run('unshare', enter(root, command), { env: environment(env) });
}

async function checkServer(root: string): Promise<void> {
  const { entrypoint, command, healthCheck, user } = readImage();
  const env = {
    LISTEN: `0.0.0.0:${await freePort()}`,
    CONSENT_LISTEN: `0.0.0.0:${await freePort()}`,
    BASE_URL: 'https://api.example.com',
    CONSENT_URL: 'https://accounts.example.com',
    SECRET_KEYS: 'dGhlIGtleSBvZiB0aGUgY2hlY2sgb2YgdGhlIGltYWdl',
  };
  const args = enter(root, [...entrypoint, ...command]);
  const server = spawn('unshare', args, { env: environment(env), stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(server, 'exit');
  try {
    await waitFor('the health check', () => runIn(root, healthCheck, env), ended);
    const pid = childOf(server);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    assert.match(status, new RegExp(`^Uid:\\s+${user.split(':')[0]}\\s`, 'm'));
    assert.match(status, /^CapEff:\s+0+$/m);
    assert.match(status, /^NSpid:\s+\d+\s+1$/m);
    process.kill(pid, 'SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  } finally {
    server.kill('SIGKILL');
  }
}

function childOf({ pid }: ChildProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}
