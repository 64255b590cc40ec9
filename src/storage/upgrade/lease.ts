import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { SECOND } from '../../lib/clock.ts';
import { newRandomId } from '../../lib/ids.ts';
import { type Database, StorageError } from '../storage.ts';
import { databaseNow, upgradeTables } from './state.ts';

const LEASE = 15 * SECOND;
const RENEWAL = 3 * SECOND;
const POLL = SECOND / 4;
const ONLY_ROW = 1;

/** The right to migrate. A row with an expiry, and no session lock: connections may go through a pooler. */
export interface Lease {
  /** Throws if another migrator has the lease. Otherwise no other can take it until the transaction ends. */
  lock(tx: Database): Promise<void>;
}

/** Waits until no other migrator has the lease. One that was killed has it until it expires. */
export async function withLease<Result>(
  db: Database,
  onWait: () => void,
  work: (lease: Lease) => Promise<Result>,
): Promise<Result> {
  const holder = newRandomId();
  if (!(await takeOrRenew(db, holder))) onWait();
  while (!(await takeOrRenew(db, holder))) await sleep(POLL);
  const timer = setInterval(() => takeOrRenew(db, holder).catch(() => {}), RENEWAL).unref();
  try {
    return await work({ lock: (tx) => lockLease(tx, holder) });
  } finally {
    clearInterval(timer);
    await setExpiry(db, holder, 0).catch(() => {});
  }
}

async function takeOrRenew(db: Database, holder: string): Promise<boolean> {
  const expiresAt = sql<number>`${databaseNow} + ${LEASE}`;
  const taken = await upgradeTables(db)
    .insertInto('migration_lease')
    .values({ id: ONLY_ROW, holder, expires_at: expiresAt })
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet({ holder, expires_at: expiresAt })
        .where(({ eb, or, ref }) =>
          or([eb('migration_lease.holder', '=', holder), eb(ref('migration_lease.expires_at'), '<', databaseNow)]),
        ),
    )
    .returning('id')
    .execute();
  return taken.length > 0;
}

async function setExpiry(db: Database, holder: string, expiresAt: number): Promise<void> {
  await upgradeTables(db)
    .updateTable('migration_lease')
    .set({ expires_at: expiresAt })
    .where('holder', '=', holder)
    .execute();
}

async function lockLease(tx: Database, holder: string): Promise<void> {
  const rows = await upgradeTables(tx)
    .selectFrom('migration_lease')
    .select('id')
    .where('holder', '=', holder)
    .forShare()
    .execute();
  if (rows.length === 0) {
    throw new StorageError(
      'Another `gatehouse migrate` has taken over, because this one did not renew its lease in time.',
    );
  }
}
