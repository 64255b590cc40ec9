import { confirmReading } from '../storage/plausible-clock.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { type Actor, recordAudit } from './entries.ts';

/** Accepts the clock of this machine as correct, after a jump. Returns the confirmed time. */
export async function confirmClock(actor: Actor, db: Database, now: number): Promise<string> {
  const time = new Date(now).toISOString();
  const subject = { kind: 'database' as const, id: 'database', name: time };
  await inTransaction(db, async (tx) => {
    await confirmReading(tx, now);
    await recordAudit(tx, { action: 'database.clock_confirmed', actor, businessId: null, subject }, now);
  });
  return time;
}
