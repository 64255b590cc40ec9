import { sql } from 'kysely';
import { monotonicClock, SECOND } from '../lib/clock.ts';
import { newRandomId } from '../lib/ids.ts';
import { type Database, isSqlite, type Storage } from './storage.ts';
import { databaseNow } from './upgrade/state.ts';

/** After this time without a renewal, another process takes over. */
const LEASE = 30 * SECOND;
const RENEWAL = LEASE / 3;

/**
 * The right to do some work alone. Times are by the clock of the database, so those of the nodes may differ. If it is set forward,
 * another process takes over early; if back, a lease that ends later than it can is free. Either way, `confirm` keeps two processes
 * from changing the same rows.
 */
export interface Lease {
  /** False if the renewals have failed for so long that another process may have taken over. */
  isHeld(): boolean;
  /** The first statement of a transaction. Throws `LeaseLost`, or keeps other processes out until the transaction ends. */
  confirm(tx: Database): Promise<void>;
}

/** Another process has taken over. */
export class LeaseLost extends Error {}

/**
 * Runs `work` if no other process has the lease of this name, and renews the lease meanwhile. Otherwise returns undefined at once.
 * The lease of a process that was killed expires.
 */
export async function withLease<Result>(
  { relaxed: db }: Storage,
  name: string,
  work: (lease: Lease) => Promise<Result>,
): Promise<Result | undefined> {
  const holder = newRandomId();
  let renewedAt = monotonicClock();
  if (!(await isFree(db, name)) || !(await take(db, name, holder))) return undefined;
  const renewAlone = async () => {
    const startedAt = monotonicClock();
    if (await renew(db, name, holder)) renewedAt = startedAt;
  };
  const timer = setInterval(() => renewAlone().catch(() => {}), RENEWAL).unref();
  const lease: Lease = {
    isHeld: () => monotonicClock() - renewedAt < LEASE,
    async confirm(tx) {
      if (!(await renew(tx, name, holder))) throw new LeaseLost(`Another process has taken over the lease "${name}".`);
    },
  };
  try {
    return await work(lease);
  } finally {
    clearInterval(timer);
    // If this fails, it expires.
    await release(db, name, holder).catch(() => {});
  }
}

const nowIn = (db: Database) => (isSqlite(db) ? sql<number>`cast(unixepoch('subsec') * 1000 as integer)` : databaseNow);

const endIn = (db: Database) => sql<number>`${nowIn(db)} + ${LEASE}`;

/** A lease that ends this late was taken before the clock was set back. */
const implausibleIn = (db: Database) => sql<number>`${nowIn(db)} + ${2 * LEASE}`;

/** Without a lock on the row, which would delay the transactions of the process that has it. */
async function isFree(db: Database, name: string): Promise<boolean> {
  const taken = db
    .selectFrom('leases')
    .select('name')
    .where('name', '=', name)
    .where('expires_at', '>', nowIn(db))
    .where('expires_at', '<', implausibleIn(db));
  return (await taken.executeTakeFirst()) === undefined;
}

async function take(db: Database, name: string, holder: string): Promise<boolean> {
  const taken = await db
    .insertInto('leases')
    .values({ name, holder, expires_at: endIn(db) })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({ holder, expires_at: endIn(db) })
        .where(({ or, eb }) =>
          or([eb('leases.expires_at', '<=', nowIn(db)), eb('leases.expires_at', '>=', implausibleIn(db))]),
        ),
    )
    .returning('name')
    .execute();
  return taken.length > 0;
}

async function renew(db: Database, name: string, holder: string): Promise<boolean> {
  const { numUpdatedRows } = await updateHeld(db, name, holder)
    .set({ expires_at: endIn(db) })
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** Without a holder, a renewal that is still under way changes nothing. */
async function release(db: Database, name: string, holder: string): Promise<void> {
  await updateHeld(db, name, holder).set({ holder: '', expires_at: 0 }).execute();
}

function updateHeld(db: Database, name: string, holder: string) {
  return db.updateTable('leases').where('name', '=', name).where('holder', '=', holder);
}
