import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Storage } from '../../src/storage/storage.ts';

/** Resolves when a statement waits for a lock. Returns after two seconds at the latest; the assertions of the test fail then. */
export async function untilLockWait({ durable }: Storage): Promise<void> {
  const waiting = sql`select pid from pg_stat_activity where wait_event_type = 'Lock'`;
  for (let looks = 0; looks < 400; looks += 1) {
    if ((await waiting.execute(durable)).rows.length > 0) return;
    await setTimeout(5);
  }
}
