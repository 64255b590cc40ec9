import type { Kysely } from 'kysely';
import { emailSkeleton, normalEmail } from '../../lib/email-addresses.ts';
import type { Change } from './change.ts';

/** Account recovery: addresses that look alike belong to one account. */
export const recovery: Change = async (db, types) => {
  for (const change of [skeletons]) await change(db, types);
};

const skeletons: Change = async (db) => {
  await db.schema
    .alterTable('users')
    .addColumn('email_skeleton', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  await fillSkeletons(db as Kysely<Filled>);
  await db.schema.createIndex('users_by_skeleton').on('users').column('email_skeleton').unique().execute();
};

interface Filled {
  users: { id: string; email: string; email_skeleton: string };
}

const BATCH = 500;

/**
 * Of accounts whose addresses look alike, the oldest keeps the skeleton: ids are in order of creation. The others get one
 * that no address can have, so that the upgrade locks nobody out.
 */
async function fillSkeletons(db: Kysely<Filled>): Promise<void> {
  const taken = new Set<string>();
  for (let after = ''; ; ) {
    const page = db.selectFrom('users').select(['id', 'email']).orderBy('id').limit(BATCH);
    const users = await (after === '' ? page : page.where('id', '>', after)).execute();
    for (const { id, email } of users) {
      const skeleton = emailSkeleton(email);
      const email_skeleton = taken.has(skeleton) ? `${skeleton} ${id}` : skeleton;
      taken.add(skeleton);
      const normal = (await isFree(db, normalEmail(email))) ? normalEmail(email) : email;
      await db.updateTable('users').set({ email: normal, email_skeleton }).where('id', '=', id).execute();
    }
    const last = users.at(-1);
    if (!last) return;
    after = last.id;
  }
}

async function isFree(db: Kysely<Filled>, email: string): Promise<boolean> {
  return (await db.selectFrom('users').select('id').where('email', '=', email).executeTakeFirst()) === undefined;
}
