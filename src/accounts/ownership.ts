import type { Database } from '../storage/storage.ts';

/** The names of the businesses of which this user is the only owner who is not disabled. */
export async function listSolelyOwned(db: Database, userId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('memberships')
    .innerJoin('businesses', 'businesses.id', 'memberships.business_id')
    .select('businesses.name')
    .where('memberships.user_id', '=', userId)
    .where('memberships.role', '=', 'owner')
    .where(({ exists, not, selectFrom }) =>
      not(
        exists(
          selectFrom('memberships as others')
            .innerJoin('users', 'users.id', 'others.user_id')
            .select('others.user_id')
            .whereRef('others.business_id', '=', 'memberships.business_id')
            .where('others.role', '=', 'owner')
            .where('others.user_id', '!=', userId)
            .where('users.disabled_at', 'is', null),
        ),
      ),
    )
    .orderBy('businesses.name')
    .execute();
  return rows.map(({ name }) => name);
}
