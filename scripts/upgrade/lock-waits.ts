import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';

/** In milliseconds. */
export const LOCK_LIMIT = 100;

/** PostgreSQL logs every wait for a lock that is longer. */
export const LOG_FLAGS = [
  'logging_collector=on',
  'log_directory=log',
  'log_lock_waits=on',
  `deadlock_timeout=${LOCK_LIMIT}ms`,
  'log_timezone=UTC',
  'log_line_prefix=%m %p ',
];

export interface LockWait {
  at: number;
  /** With the statement that waited. */
  text: string;
}

/**
 * From the log of the server. `create index concurrently` waits for older transactions before it begins, and blocks no
 * other statement: its waits, for the end of a virtual transaction, are left out.
 */
export function readLockWaits(serverFolder: string): LockWait[] {
  const folder = join(serverFolder, 'data/log');
  const log = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  const waits = log.join('').matchAll(/^(\S+ \S+) UTC (\d+) LOG: {2}(process \d+ still waiting for .*)/gm);
  return [...waits]
    .filter(([, , , what = '']) => !what.includes('virtual transaction'))
    .map(([, at, pid, what]) => ({
      at: Date.parse(`${at}Z`.replace(' ', 'T')),
      text: `${what}: ${findStatement(log.join(''), pid ?? '')}`,
    }));
}

function findStatement(log: string, pid: string): string {
  return new RegExp(` ${pid} STATEMENT: {2}(.{0,200})`, 's').exec(log)?.[1]?.replaceAll(/\s+/g, ' ') ?? '';
}

export interface LockSamples {
  /** The longest wait that was seen, in milliseconds. */
  stop(): Promise<number>;
}

/** Samples waits that are shorter than those in the log. */
export async function sampleLocks(databaseUrl: string): Promise<LockSamples> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => {});
  await client.connect();
  let [longest, isOver] = [0, false];
  const sampling = (async () => {
    while (!isOver) {
      const { rows } = await client.query<{ ms: number | null }>(
        `select extract(epoch from max(clock_timestamp() - waitstart))::float * 1000 as ms
         from pg_locks where not granted and locktype <> 'virtualxid'`,
      );
      longest = Math.max(longest, rows[0]?.ms ?? 0);
      await setTimeout(10);
    }
  })();
  // After a failure the server is stopped meanwhile.
  sampling.catch(() => {});
  return {
    async stop() {
      isOver = true;
      await sampling;
      await client.end();
      return longest;
    },
  };
}
