import { isId } from '../lib/ids.ts';
import { contains, type SearchTerm } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import { type User, userFrom } from './users.ts';

export async function listUsers(db: Database): Promise<User[]> {
  return (await db.selectFrom('users').selectAll().orderBy('email').execute()).map(userFrom);
}

/** By name, email or id. */
export async function searchUsers(db: Database, { search, after, limit }: SearchTerm): Promise<User[]> {
  let query = db.selectFrom('users').selectAll().orderBy('id', 'desc').limit(limit);
  if (after) query = query.where('id', '<', after);
  if (isId(search)) query = query.where('id', '=', search);
  else if (search) query = query.where(contains(['name', 'email'], search));
  return (await query.execute()).map(userFrom);
}
