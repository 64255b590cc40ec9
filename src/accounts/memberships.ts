import type { Actor } from '../audit/entries.ts';
import { FormError } from '../lib/errors.ts';
import { isId } from '../lib/ids.ts';
import type { Role } from '../storage/account-tables.ts';
import { batchedQuery } from '../storage/batched-query.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import { contains, type SearchTerm } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';

export type { Role } from '../storage/account-tables.ts';

/** A user in a business. */
export interface Membership {
  userId: string;
  businessId: string;
  businessName: string;
  role: Role;
  since: number;
}

/** A user in a business, as its members see them. */
export interface Member {
  id: string;
  name: string;
  email: string;
  emailVerifiedAt: number | null;
  role: Role;
  since: number;
  disabledAt: number | null;
}

export const ROLES: readonly Role[] = ['owner', 'admin', 'member'];

export async function insertMembership(
  db: Database,
  member: { userId: string; businessId: string; role: string },
  now: number,
): Promise<void> {
  const role = readRole(member.role);
  const row = { user_id: member.userId, business_id: member.businessId, role, created_at: now };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('memberships')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  if (!numInsertedOrUpdatedRows) throw new FormError('user', 'This user is a member of the business already.');
}

export async function deleteMembership(db: Database, userId: string, businessId: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('memberships')
    .where('user_id', '=', userId)
    .where('business_id', '=', businessId)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

export async function updateRole(db: Database, userId: string, businessId: string, role: string): Promise<boolean> {
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
  return (await readMembership(db, { userId, businessId })).rows[0];
}

const readMembership = preparedQuery((db, { userId, businessId }: Pick<Membership, 'userId' | 'businessId'>) =>
  selectMemberships(db).where('memberships.user_id', '=', userId).where('memberships.business_id', '=', businessId),
);

export async function listMemberships(db: Database, userId: string): Promise<Membership[]> {
  return (await readMemberships(db, { userId })).rows;
}

const readMemberships = batchedQuery({ userId: 'uuid' }, (db, { userId }: Pick<Membership, 'userId'>) =>
  selectMemberships(db).where('memberships.user_id', '=', userId).orderBy('businesses.name'),
);

/** The business that the user chose last, if they are still a member of it; otherwise their first. */
export async function findCurrentMembership(
  db: Database,
  user: { id: string; currentBusinessId: string | null },
): Promise<Membership | undefined> {
  const memberships = await listMemberships(db, user.id);
  return memberships.find(({ businessId }) => businessId === user.currentBusinessId) ?? memberships[0];
}

/** Searches by name or email. */
export async function listMembers(
  db: Database,
  businessId: string,
  { search, after, limit }: SearchTerm,
): Promise<Member[]> {
  let query = selectMembers(db).where('memberships.business_id', '=', businessId);
  if (search) query = query.where(contains(['users.name', 'users.email'], search));
  if (after) query = query.where('memberships.user_id', '<', after);
  return query.orderBy('memberships.user_id', 'desc').limit(limit).execute();
}

export async function findMember(db: Database, businessId: string, userId: string): Promise<Member | undefined> {
  if (!isId(userId)) return undefined;
  return selectMembers(db)
    .where('memberships.business_id', '=', businessId)
    .where('memberships.user_id', '=', userId)
    .executeTakeFirst();
}

/** The owners who are not disabled. */
export async function listOwners(db: Database, businessId: string): Promise<Member[]> {
  return selectMembers(db)
    .where('memberships.business_id', '=', businessId)
    .where('memberships.role', '=', 'owner')
    .where('users.disabled_at', 'is', null)
    .orderBy('memberships.user_id')
    .execute();
}

export async function listOwnerIds(db: Database, businessId: string): Promise<string[]> {
  return (await listOwners(db, businessId)).map(({ id }) => id);
}

/** Whether the business has another owner who is not disabled. */
export async function hasOtherOwner(
  db: Database,
  { userId, businessId }: Pick<Membership, 'userId' | 'businessId'>,
): Promise<boolean> {
  const other = await selectMembers(db)
    .where('memberships.business_id', '=', businessId)
    .where('memberships.role', '=', 'owner')
    .where('memberships.user_id', '!=', userId)
    .where('users.disabled_at', 'is', null)
    .limit(1)
    .executeTakeFirst();
  return other !== undefined;
}

/** Who belongs to a business and who owns it. */
export interface Ownership {
  /** The user whose id was given; undefined if they are not a member. */
  member: Member | undefined;
  /** The ids of the owners who are not disabled. */
  owners: string[];
  /** The owners, sorted by when they joined. */
  ownersBySeniority: Member[];
}

type MemberKey = Pick<Membership, 'userId' | 'businessId'>;

/** For pages: it locks nothing. */
export async function findOwnership(db: Database, key: MemberKey): Promise<Ownership> {
  return ownershipAmong(await selectOwnersAnd(db, key).execute(), key);
}

/**
 * Needs a transaction: until it ends, the rows of the owners and the member are locked, always in the same order, which prevents
 * deadlocks.
 */
export async function lockOwnership(db: Database, key: MemberKey): Promise<Ownership> {
  return ownershipAmong(await selectOwnersAnd(db, key).forUpdate('memberships').execute(), key);
}

function selectOwnersAnd(db: Database, { userId, businessId }: MemberKey) {
  return selectMembers(db)
    .where('memberships.business_id', '=', businessId)
    .where(({ eb, or }) => or([eb('memberships.role', '=', 'owner'), eb('memberships.user_id', '=', userId)]))
    .orderBy('memberships.user_id');
}

function ownershipAmong(members: Member[], { userId }: MemberKey): Ownership {
  const owners = members.filter(({ role, disabledAt }) => role === 'owner' && disabledAt === null);
  const ownersBySeniority = owners.toSorted((a, b) => a.since - b.since || (a.id < b.id ? -1 : 1));
  return { member: members.find(({ id }) => id === userId), owners: owners.map(({ id }) => id), ownersBySeniority };
}

/** Needs a transaction: until it ends, the member can neither be removed nor get another role. The lock is shared. */
export async function lockRole(db: Database, key: MemberKey): Promise<Role | undefined> {
  return (await readRoleForShare(db, key)).rows[0]?.role;
}

const readRoleForShare = preparedQuery((db, { userId, businessId }: MemberKey) =>
  db
    .selectFrom('memberships')
    .select('role')
    .where('user_id', '=', userId)
    .where('business_id', '=', businessId)
    .forShare(),
);

/** Checks the locked rows: the actor may have lost the role since the page was shown. */
export function mayManageMembers({ owners }: Ownership, actor: Pick<Actor, 'kind' | 'id'>): boolean {
  return actor.kind === 'operator' || owners.some((id) => id === actor.id);
}

/** Needs a transaction, and locks the owners. Whether the actor may change the business. */
export async function mayChangeBusiness(actor: Actor, tx: Database, businessId: string): Promise<boolean> {
  if (actor.kind === 'operator') return true;
  return actor.id !== null && mayManageMembers(await lockOwnership(tx, { userId: actor.id, businessId }), actor);
}

/** An operator can remove the last owner, since an operator can also appoint a new one. */
export function rejectLastOwner({ member, owners }: Ownership, actor: Actor): void {
  if (member?.role !== 'owner' || actor.kind === 'operator') return;
  if (owners.some((id) => id !== member.id)) return;
  throw new FormError('role', 'A business needs at least one owner. Make someone else an owner first.');
}

function selectMembers(db: Database) {
  return db
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .select([
      'users.id as id',
      'users.name as name',
      'users.email as email',
      'users.email_verified_at as emailVerifiedAt',
      'memberships.role as role',
      'memberships.created_at as since',
      'users.disabled_at as disabledAt',
    ]);
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

export function readRole(role: string): Role {
  const known = ROLES.find((name) => name === role);
  if (!known) throw new FormError('role', `A role must be one of ${ROLES.join(', ')}.`);
  return known;
}
