import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';

const TIMEOUT = 120_000;

/** Retries until `attempt` succeeds, `ended` settles, or two minutes have passed. */
export async function waitFor<Result>(
  what: string,
  attempt: () => Promise<Result>,
  ended: Promise<unknown>,
): Promise<Result> {
  const deadline = Date.now() + TIMEOUT;
  let isOver = false;
  ended.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (isOver) throw new Error(`The process ended before ${what}.`, { cause: error });
      if (Date.now() > deadline) throw new Error(`No success within two minutes: ${what}.`, { cause: error });
      await setTimeout(200);
    }
  }
}

export interface Running {
  ended: Promise<unknown[]>;
  stop(): Promise<unknown[]>;
}

/** A process that runs until it is stopped, and whose errors are shown. */
export function start(program: string, args: string[], env: NodeJS.ProcessEnv): Running {
  const child: ChildProcess = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'exit');
  return {
    ended,
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}
