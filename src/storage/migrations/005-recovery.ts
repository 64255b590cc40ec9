import { type Kysely, sql } from 'kysely';
import { emailSkeleton, normalEmail } from '../../lib/email-addresses.ts';
import type { Migration } from './change.ts';

/** Account recovery: who owns an address, who may join with it, and how a lost password is replaced. */
export const recovery: Migration = async (db, types) => {
  for (const change of [skeletons, verification, invitations, passwordLinks]) await change(db, types);
};

/** Until now an operator added every account but those that people made with an invitation, as the audit log says. */
const verification: Migration = async (db, { id, time }) => {
  await db.schema.alterTable('users').addColumn('email_verified_at', time).execute();
  await db.schema.alterTable('users').addColumn('origin_business_id', id).execute();
  await sql`update users set email_verified_at = created_at where not exists (
    select 1 from acts where acts.subject_id = cast(users.id as text) and acts.action = 'user.added' and acts.actor_kind = 'user'
  )`.execute(db);
  await sql`update users set origin_business_id = (
    select acts.business_id from acts
    where acts.subject_id = cast(users.id as text) and acts.action = 'member.joined' and acts.at = users.created_at
    order by acts.id limit 1
  ) where email_verified_at is null`.execute(db);
};

/** An invitation names one address from now on. Those that are open name none, and so they end. */
const invitations: Migration = async (db) => {
  await db.schema
    .alterTable('invitations')
    .addColumn('email', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  await sql`update invitations set withdrawn_at = created_at where accepted_at is null and withdrawn_at is null`.execute(
    db,
  );
  await db.schema.alterTable('invitations').dropColumn('note').execute();
};

const passwordLinks: Migration = async (db, { id, time }) => {
  await db.schema
    .createTable('password_links')
    .addColumn('user_id', id, (column) => column.primaryKey().references('users.id'))
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('bound_to', 'text', (column) => column.notNull())
    .addColumn('maker_kind', 'text', (column) => column.notNull())
    .addColumn('maker_id', id)
    .addColumn('maker_name', 'text', (column) => column.notNull())
    .addColumn('business_id', id)
    .addColumn('created_at', time, (column) => column.notNull())
    .addColumn('expires_at', time, (column) => column.notNull())
    .addColumn('used_at', time)
    .execute();
};

const skeletons: Migration = async (db) => {
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
