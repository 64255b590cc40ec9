import { withdrawInvitationsOf } from '../accounts/invitations.ts';
import { deleteMembership } from '../accounts/memberships.ts';
import { isDecidedByOwner, lockOwnership, rejectLastOwner } from '../accounts/ownership.ts';
import { auditedUser } from '../accounts/user-acts.ts';
import { type App, listAppsById } from '../apps/apps.ts';
import { type Actor, recordAudit } from '../audit/acts.ts';
import type { Database } from '../storage/storage.ts';
import { forgetConsentsOfMember } from './consents.ts';
import { revokeGrantsOfUser } from './grants.ts';
import { selectLiveGrants } from './status.ts';

interface Parties {
  userId: string;
  businessId: string;
}

/**
 * Someone leaves a business, or is removed by an owner: what they allowed there ends at once, and no later membership
 * brings it back. Needs a transaction. False if there is no such member, or if it is not for this one to decide.
 */
export async function depart(
  db: Database,
  { userId, businessId, by }: Parties & { by: Actor },
  now: number,
): Promise<boolean> {
  const ownership = await lockOwnership(db, { userId, businessId });
  const { member } = ownership;
  if (!member || (by.id !== userId && !isDecidedByOwner(ownership, by))) return false;
  rejectLastOwner(ownership, by);
  await deleteMembership(db, userId, businessId);
  await withdrawInvitationsOf(db, { userId, businessId }, now);
  // In this order: whoever is about to rely on a consent either has made a grant that is found below, or waits.
  await forgetConsentsOfMember(db, { userId, businessId });
  await revokeGrantsOfUser(db, { userId, businessId, reason: 'member_removed' }, now);
  const subject = auditedUser(member);
  const detail = { role: member.role };
  await recordAudit(db, { action: 'member.removed', actor: by, businessId, subject, detail }, now);
  return true;
}

/** The apps that would stop. */
export async function listAppsAllowedBy(db: Database, { userId, businessId }: Parties, now: number): Promise<App[]> {
  const live = await selectLiveGrants(db, now)
    .select('app_id')
    .distinct()
    .where('user_id', '=', userId)
    .where('business_id', '=', businessId)
    .execute();
  return listAppsById(
    db,
    live.map(({ app_id }) => app_id),
  );
}
