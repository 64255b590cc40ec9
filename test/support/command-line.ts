import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { createMigratedFile } from './databases.ts';
import { PASSWORD } from './fixtures.ts';
import { runInProcess } from './in-process.ts';
import { CHILD_LOG_LEVEL, recordOutput } from './leaks.ts';
import { freePort } from './ports.ts';
import { PROGRAM } from './program.ts';

const passwords = mkdtempSync(join(tmpdir(), 'gatehouse-passwords-'));
process.once('exit', () => rmSync(passwords, { recursive: true, force: true }));

/** A file for `--password-file`. */
export function writePassword(password: string): string {
  const file = join(passwords, password);
  writeFileSync(file, `${password}\n`);
  return file;
}

export const PASSWORD_FILE = writePassword(PASSWORD);

export interface CommandResult {
  status: number | null;
  stdout: string;
  stderr: string;
}

export type CommandLine = ReturnType<typeof createCommandLine>;

/** Like `createCommandLine`, with an empty, migrated database. */
export async function createCommandLineWithDatabase(): Promise<CommandLine> {
  const cli = createCommandLine();
  await createMigratedFile(join(cli.folder, 'gatehouse.db'));
  return cli;
}

/** The real command line, in a temporary folder, with a database that does not exist yet. */
export function createCommandLine() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const running = new Set<ReturnType<typeof start>>();
  after(async () => {
    for (const child of running) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const baseEnv = {
    PATH: process.env.PATH,
    DATABASE_URL: `sqlite:${join(folder, 'gatehouse.db')}`,
    LOG_LEVEL: 'silent',
  };

  function start(args: string[], env: Record<string, string> = {}) {
    return spawn(process.execPath, [PROGRAM, ...args], { cwd: folder, env: { ...baseEnv, ...env } });
  }

  async function runProcess(args: string[], { env = {}, input = '' }: RunOptions): Promise<CommandResult> {
    const child = start(args, env);
    child.stdin.end(input);
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { status: child.exitCode, stdout, stderr };
  }

  /** Runs in this process where possible, which is faster. `serve` handles signals and exits, so it needs its own. */
  async function run(args: string[], options: RunOptions = {}): Promise<CommandResult> {
    const { asProcess = options.input !== undefined || args[0] === 'serve' } = options;
    if (asProcess) return runProcess(args, options);
    const { runGatehouse } = await import('../../src/cli/gatehouse.ts');
    return runInProcess(folder, () => runGatehouse(args, { ...baseEnv, ...options.env }));
  }

  return {
    folder,
    databaseUrl: baseEnv.DATABASE_URL,
    run,
    /** What a command prints with `--json`. */
    // biome-ignore lint/suspicious/noExplicitAny: tests read any field, and assert its value.
    async json(args: string[], options: RunOptions = {}): Promise<any> {
      const { status, stdout, stderr } = await run([...args, '--json'], options);
      if (status !== 0) throw new Error(`gatehouse ${args.join(' ')} ended with ${status}: ${stderr}`);
      return JSON.parse(stdout);
    },
    /** Starts `serve`, and resolves once it is ready. */
    async serve(env: Record<string, string> = {}) {
      const api = env.BASE_URL ?? `http://127.0.0.1:${await freePort()}`;
      const web = env.CONSENT_URL ?? `http://localhost:${await freePort()}`;
      const child = start(['serve'], { LOG_LEVEL: CHILD_LOG_LEVEL, ...env, BASE_URL: api, CONSENT_URL: web });
      recordOutput(child);
      running.add(child);
      const stderr: string[] = [];
      await new Promise<void>((resolve, reject) => {
        child.stderr.on('data', (chunk) => {
          stderr.push(String(chunk));
          if (stderr.join('').includes('serves')) resolve();
        });
        child.once('close', () => reject(new Error(`serve ended: ${stderr.join('')}`)));
      });
      return {
        api,
        web,
        async end(signal: NodeJS.Signals) {
          if (child.exitCode === null && child.signalCode === null) {
            child.kill(signal);
            await once(child, 'close');
          }
          running.delete(child);
          return child.exitCode;
        },
      };
    },
  };
}

interface RunOptions {
  env?: Record<string, string>;
  input?: string;
  /** Runs in a new process, for tests of streams or of two processes on one database. */
  asProcess?: boolean;
}
