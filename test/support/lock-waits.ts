import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Storage } from '../../src/storage/storage.ts';

/** Resolves when so many statements wait for a lock, or after two seconds; then the assertions of the test fail. */
export async function untilLockWait({ durable }: Storage, count = 1): Promise<void> {
  const waiting = sql`select pid from pg_stat_activity where wait_event_type = 'Lock'`;
  for (let attempt = 0; attempt < 400; attempt += 1) {
    if ((await waiting.execute(durable)).rows.length >= count) return;
    await setTimeout(5);
  }
}
