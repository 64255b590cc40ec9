import { setTimeout } from 'node:timers/promises';
import { hasHappenings } from '../../src/events/happenings.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { spreadHappenings } from '../../src/webhooks/spreading.ts';

/** Spreads what has happened, as the job does. If the job of a server is spreading, waits for it. */
export async function spreadAll(deps: { storage: Storage; clock: () => number }): Promise<void> {
  while (await hasHappenings(deps.storage.durable)) {
    if (!(await spreadHappenings(deps))) await setTimeout(5);
  }
}
