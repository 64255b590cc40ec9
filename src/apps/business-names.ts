import { lockBusiness, setBusinessName } from '../accounts/businesses.ts';
import { mayChangeBusiness } from '../accounts/memberships.ts';
import { type Actor, recordAudit } from '../audit/entries.ts';
import { readPublicName } from '../lib/names.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { listAppsOf } from './apps.ts';
import { badgeAtStake, removeVerification } from './verification.ts';

interface Renaming {
  businessId: string;
  name: string;
  /** Whether to throw, with the field `BADGE`, instead of removing the badge of its apps. */
  keepsBadge?: boolean;
}

/**
 * Changes nothing if this is the name already. False if the actor is not an owner. Pages show the name beside the
 * Verified publisher badge, which vouches for the old one. So the apps of the business lose the badge.
 */
export async function renameBusiness(
  actor: Actor,
  db: Database,
  { businessId, name, keepsBadge }: Renaming,
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const business = await lockBusiness(tx, businessId);
    if (!business || !(await mayChangeBusiness(actor, tx, businessId))) return false;
    const newName = readPublicName('name', name, business.name);
    if (business.name === newName) return true;
    await setBusinessName(tx, { id: businessId, name: newName });
    const subject = { kind: 'business', id: businessId, name: business.name } as const;
    const detail = { to: newName };
    await recordAudit(tx, { action: 'business.renamed', actor, businessId, subject, detail }, now);
    const verified = (await listAppsOf(tx, businessId)).filter(({ verifiedAt }) => verifiedAt !== null);
    if (keepsBadge && verified.length > 0) throw badgeAtStake(verified);
    for (const { id: appId } of verified) {
      await removeVerification(actor, tx, { appId, reason: 'the business was renamed' }, now);
    }
    return true;
  });
}
