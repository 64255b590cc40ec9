import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { LOAD_SETTINGS } from '../../bench/load-settings.ts';
import { freePort } from '../../test/support/ports.ts';
import { isReady } from '../../test/support/ready.ts';

export interface UpgradeNode {
  release: string;
  api: string;
  web: string;
  /** Resolves with the exit code. */
  stop(): Promise<number | null>;
  kill(): void;
}

/** `serve` of the release in a folder. Every node has its own URLs: no proxy is between it and the load. */
export async function startNode(release: string, folder: string, databaseUrl: string): Promise<UpgradeNode> {
  const [api, web] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const child = run(folder, ['serve'], {
    ...LOAD_SETTINGS,
    BASE_URL: api,
    CONSENT_URL: web,
    DATABASE_URL: databaseUrl,
  });
  child.stdout?.pipe(process.stderr);
  const messages = text(child.stderr as NonNullable<ChildProcess['stderr']>);
  while (!(await isReady(`${api}/readyz`))) {
    if (child.exitCode !== null) throw new Error(`A node ended with ${child.exitCode}: ${await messages}`);
    await setTimeout(50);
  }
  return {
    release,
    api,
    web,
    async stop() {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      const [code] = await exit;
      return code;
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

export interface CommandOutput {
  code: number;
  stdout: string;
  stderr: string;
}

/** A command of the release in a folder. */
export async function runCommand(folder: string, args: string[], databaseUrl: string): Promise<CommandOutput> {
  const child = run(folder, args, { DATABASE_URL: databaseUrl });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout as NonNullable<ChildProcess['stdout']>),
    text(child.stderr as NonNullable<ChildProcess['stderr']>),
    once(child, 'exit'),
  ]);
  return { code, stdout, stderr };
}

function run(folder: string, args: string[], env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [join(folder, 'src/cli/main.js'), ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
