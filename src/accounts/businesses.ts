import { type Actor, recordAudit } from '../audit/entries.ts';
import { isId, newId } from '../lib/ids.ts';
import { readPublicName } from '../lib/names.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { contains, type SearchTerm } from '../storage/search.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';

export interface Business {
  id: string;
  name: string;
  createdAt: number;
  /** Whether its members need a second factor to sign in. */
  requiresSecondFactor: boolean;
}

export async function addBusiness(
  actor: Actor,
  db: Database,
  business: { name: string },
  now: number,
): Promise<Business> {
  return inTransaction(db, async (tx) => {
    const added = await insertBusiness(tx, business, now);
    const subject = { kind: 'business', id: added.id, name: added.name } as const;
    await recordAudit(tx, { action: 'business.added', actor, businessId: added.id, subject }, now);
    return added;
  });
}

export async function insertBusiness(db: Database, business: { name: string }, now: number): Promise<Business> {
  const row = {
    id: newId(now),
    name: readPublicName('name', business.name),
    created_at: now,
    requires_second_factor: 0,
  };
  await db.insertInto('businesses').values(row).execute();
  return fromRow(row);
}

export async function findBusiness(db: Database, id: string): Promise<Business | undefined> {
  if (!isId(id)) return undefined;
  const { rows } = await readBusiness(db, { id });
  return rows[0] && fromRow(rows[0]);
}

const readBusiness = preparedQuery((db, { id }: { id: string }) =>
  db.selectFrom('businesses').selectAll().where('id', '=', id),
);

/** Needs a transaction: until it ends, the business keeps its name and its rules. */
export async function lockBusiness(db: Database, id: string): Promise<Business | undefined> {
  if (!isId(id)) return undefined;
  const row = await db.selectFrom('businesses').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
  return row && fromRow(row);
}

/** Like `lockBusiness`, but the lock is shared. */
export async function lockBusinessForShare(db: Database, id: string): Promise<Business | undefined> {
  if (!isId(id)) return undefined;
  const row = await db.selectFrom('businesses').selectAll().where('id', '=', id).forShare().executeTakeFirst();
  return row && fromRow(row);
}

export async function listBusinesses(db: Database): Promise<Business[]> {
  return (await db.selectFrom('businesses').selectAll().orderBy('name').execute()).map(fromRow);
}

/** Searches by name or id. Each business comes with its number of members. */
export async function searchBusinesses(db: Database, { search, after, limit }: SearchTerm) {
  let query = db
    .selectFrom('businesses')
    .selectAll()
    .select(({ selectFrom }) =>
      selectFrom('memberships')
        .select(({ fn }) => fn.countAll().as('count'))
        .whereRef('memberships.business_id', '=', 'businesses.id')
        .as('members'),
    )
    .orderBy('id', 'desc')
    .limit(limit);
  if (after) query = query.where('id', '<', after);
  if (isId(search)) query = query.where('id', '=', search);
  else if (search) query = query.where(contains(['name'], search));
  return (await query.execute()).map(({ members, ...row }) => ({ ...fromRow(row), members: Number(members) }));
}

/** Part of `renameBusiness` (apps/business-names.ts). */
export async function setBusinessName(db: Database, { id, name }: Pick<Business, 'id' | 'name'>): Promise<void> {
  await db.updateTable('businesses').set({ name }).where('id', '=', id).execute();
}

/** False if the rule has this value already. */
export async function setRequiresSecondFactor(
  db: Database,
  { businessId, isRequired }: { businessId: string; isRequired: boolean },
): Promise<boolean> {
  const value = isRequired ? 1 : 0;
  const { numUpdatedRows } = await db
    .updateTable('businesses')
    .set({ requires_second_factor: value })
    .where('id', '=', businessId)
    .where('requires_second_factor', '!=', value)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

function fromRow(row: Row<'businesses'>): Business {
  return {
    id: row.id,
    name: row.name,
    createdAt: row.created_at,
    requiresSecondFactor: row.requires_second_factor === 1,
  };
}
