import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { runAsAdmin } from './databases.ts';
import { freePort } from './ports.ts';

/** `PGBOUNCER` takes precedence over the program in the PATH. */
const PROGRAMS = [process.env.PGBOUNCER, 'pgbouncer', '/usr/sbin/pgbouncer'];

export function findPgBouncer(): { program: string; version: string } | undefined {
  for (const program of PROGRAMS) {
    if (!program) continue;
    const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
    if (status === 0) return { program, version: /[\d.]+/.exec(stdout)?.[0] ?? '' };
  }
  return undefined;
}

/** Starts PgBouncer in transaction mode, with fewer server connections than client connections. Returns the URL of the database through it. */
export async function startPgBouncer(program: string, postgresUrl: string, settings: string[] = []): Promise<string> {
  const url = new URL(postgresUrl);
  const [folder, port] = [mkdtempSync(join(tmpdir(), 'gatehouse-pgbouncer-')), await freePort()];
  const file = join(folder, 'pgbouncer.ini');
  const target = `host=127.0.0.1 port=${url.port} user=${url.username} password=${url.password}`;
  const lines = ['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = any'];
  const pool = ['pool_mode = transaction', 'default_pool_size = 3', 'max_client_conn = 200', ...settings];
  writeFileSync(file, ['[databases]', `* = ${target}`, '[pgbouncer]', ...lines, ...pool, ''].join('\n'));
  chmodSync(folder, 0o755);
  const isRoot = process.getuid?.() === 0;
  const child = spawn(program, [file], { stdio: 'ignore', ...(isRoot && { uid: 65534, gid: 65534 }) });
  after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    rmSync(folder, { recursive: true, force: true });
  });
  url.port = String(port);
  const isUp = () =>
    runAsAdmin(url.href, ['select 1']).then(
      () => true,
      () => false,
    );
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`PgBouncer ended with ${child.exitCode}`);
    await setTimeout(50);
  }
  return url.href;
}
