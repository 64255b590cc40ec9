import { isId, newId } from '../lib/ids.ts';
import { readName } from '../lib/names.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';

export interface Business {
  id: string;
  name: string;
  createdAt: number;
}

export async function addBusiness(db: Database, business: { name: string }, now: number): Promise<Business> {
  const row = { id: newId(now), name: readName('name', business.name), created_at: now };
  await db.insertInto('businesses').values(row).execute();
  return fromRow(row);
}

export async function findBusiness(db: Database, id: string): Promise<Business | undefined> {
  if (!isId(id)) return undefined;
  const row = await db.selectFrom('businesses').selectAll().where('id', '=', id).executeTakeFirst();
  return row && fromRow(row);
}

export async function listBusinesses(db: Database): Promise<Business[]> {
  return (await db.selectFrom('businesses').selectAll().orderBy('name').execute()).map(fromRow);
}

function fromRow(row: Row<'businesses'>): Business {
  return { id: row.id, name: row.name, createdAt: row.created_at };
}
