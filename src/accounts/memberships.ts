import { FormError } from '../lib/errors.ts';
import type { Database } from '../storage/storage.ts';
import type { Role } from '../storage/tables.ts';

export type { Role } from '../storage/tables.ts';

/** A user in a business. */
export interface Membership {
  userId: string;
  businessId: string;
  businessName: string;
  role: Role;
  since: number;
}

export const ROLES: readonly Role[] = ['owner', 'admin', 'member'];

export async function addMember(
  db: Database,
  member: { userId: string; businessId: string; role: string },
  now: number,
): Promise<void> {
  const row = {
    user_id: member.userId,
    business_id: member.businessId,
    role: readRole(member.role),
    created_at: now,
  };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('memberships')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  if (!numInsertedOrUpdatedRows) throw new FormError('user', 'This user is a member of the business already.');
}

/** What the member had allowed ends with the membership, and a later membership does not bring it back. */
export async function removeMember(db: Database, userId: string, businessId: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('memberships')
    .where('user_id', '=', userId)
    .where('business_id', '=', businessId)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

export async function setRole(db: Database, userId: string, businessId: string, role: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('memberships')
    .set({ role: readRole(role) })
    .where('user_id', '=', userId)
    .where('business_id', '=', businessId)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

export async function findMembership(
  db: Database,
  userId: string,
  businessId: string,
): Promise<Membership | undefined> {
  return selectMemberships(db)
    .where('memberships.user_id', '=', userId)
    .where('memberships.business_id', '=', businessId)
    .executeTakeFirst();
}

export async function listMemberships(db: Database, userId: string): Promise<Membership[]> {
  return selectMemberships(db).where('memberships.user_id', '=', userId).orderBy('businesses.name').execute();
}

/** The business a user acts for right now: the one last chosen, while it is still theirs, or else their first. */
export async function findCurrentMembership(
  db: Database,
  user: { id: string; currentBusinessId: string | null },
): Promise<Membership | undefined> {
  const memberships = await listMemberships(db, user.id);
  return memberships.find(({ businessId }) => businessId === user.currentBusinessId) ?? memberships[0];
}

function selectMemberships(db: Database) {
  return db
    .selectFrom('memberships')
    .innerJoin('businesses', 'businesses.id', 'memberships.business_id')
    .select([
      'memberships.user_id as userId',
      'memberships.business_id as businessId',
      'businesses.name as businessName',
      'memberships.role as role',
      'memberships.created_at as since',
    ]);
}

function readRole(role: string): Role {
  const known = ROLES.find((name) => name === role);
  if (!known) throw new FormError('role', `A role is one of ${ROLES.join(', ')}.`);
  return known;
}
