import type { Database } from '../storage/storage.ts';
import { type Invitation, selectInvitations } from './invitations.ts';

/** The invitations of a business that can still be used, newest first. */
export async function listOpenInvitations(
  db: Database,
  businessId: string,
  { after, limit }: { after: string | undefined; limit: number },
  now: number,
): Promise<Invitation[]> {
  let query = selectInvitations(db)
    .where('invitations.business_id', '=', businessId)
    .where('invitations.accepted_at', 'is', null)
    .where('invitations.withdrawn_at', 'is', null)
    .where('invitations.expires_at', '>', now);
  if (after) query = query.where('invitations.id', '<', after);
  return query.orderBy('invitations.id', 'desc').limit(limit).execute();
}
