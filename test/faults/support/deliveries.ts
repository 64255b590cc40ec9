import { setTimeout } from 'node:timers/promises';
import type { Storage } from '../../../src/storage/storage.ts';

/** Ends the leases of the killed node, as if a minute had passed. Changes no other endpoints. */
export function expireLeases({ durable }: Storage): Promise<void> {
  return retryOnDeadlock(async () => {
    await durable
      .updateTable('endpoints')
      .set({ claimed_until: 1, due_at: 1 })
      .where('claimed_until', '>', 1)
      .execute();
  });
}

/** Until every event has been delivered. No delivery waits for its delay after a failure. */
export async function untilDelivered(storage: Storage): Promise<void> {
  while (await hasPendingDeliveries(storage)) {
    await retryOnDeadlock(() => expireDelays(storage));
    await setTimeout(100);
  }
}

/** Makes the next attempts due, as if their delays had passed. Endpoints without a due time keep none. */
async function expireDelays({ durable }: Storage): Promise<void> {
  const now = Date.now();
  await durable.updateTable('deliveries').set({ due_at: 0 }).where('due_at', '>', now).execute();
  await durable
    .updateTable('endpoints')
    .set({ due_at: 0, backoff_until: 0 })
    .where(({ or, eb }) => or([eb('due_at', '>', now), eb('backoff_until', '>', now)]))
    .where('due_at', 'is not', null)
    .where('claimed_until', '=', 0)
    .execute();
}

/** The nodes lock the same rows in another order, so PostgreSQL may abort this transaction as a deadlock. */
async function retryOnDeadlock(work: () => Promise<void>, tries = 20): Promise<void> {
  await work().catch((error) => {
    if (tries === 0) throw error;
    return retryOnDeadlock(work, tries - 1);
  });
}

async function hasPendingDeliveries({ durable }: Storage): Promise<boolean> {
  const events = await durable.selectFrom('events').select('id').where('dispatched_at', 'is', null).limit(1).execute();
  const deliveries = await durable
    .selectFrom('deliveries')
    .select('id')
    .where('delivered_at', 'is', null)
    .limit(1)
    .execute();
  return events.length + deliveries.length > 0;
}
