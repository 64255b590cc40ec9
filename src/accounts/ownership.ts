import type { Actor } from '../audit/acts.ts';
import { FormError } from '../lib/errors.ts';
import type { Database } from '../storage/storage.ts';
import { holdMembers, type Member } from './memberships.ts';

/** What is known for sure, until the transaction ends, when someone wants to change a membership. */
interface Ownership {
  /** Whom it is about; undefined for someone who is no member. */
  member: Member | undefined;
  /** Who may decide: a disabled owner cannot. */
  owners: string[];
}

/** Needs a transaction. */
export async function lockOwnership(
  db: Database,
  { userId, businessId }: { userId: string; businessId: string },
): Promise<Ownership> {
  const held = await holdMembers(db, { userId, businessId });
  const owners = held.filter(({ role, disabledAt }) => role === 'owner' && disabledAt === null);
  return { member: held.find(({ id }) => id === userId), owners: owners.map(({ id }) => id) };
}

/** Judged by the row as it is now, and not by the page that offered it. */
export function isDecidedByOwner({ owners }: Ownership, by: Pick<Actor, 'kind' | 'id'>): boolean {
  return by.kind === 'operator' || owners.some((id) => id === by.id);
}

/** An operator may: it is to them that a business without an owner turns. */
export function refuseLastOwner({ member, owners }: Ownership, by: Actor): void {
  if (member?.role !== 'owner' || by.kind === 'operator') return;
  if (owners.some((id) => id !== member.id)) return;
  throw new FormError('role', 'A business keeps at least one owner. Make someone else an owner first.');
}
