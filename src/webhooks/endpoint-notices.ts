import { notifyOwners } from '../accounts/notices.ts';
import { AUTOMATIC, recordAudit } from '../audit/entries.ts';
import type { Database } from '../storage/storage.ts';
import { type DisabledReason, markEndpointDisabled } from './endpoints.ts';

const REASONS: Record<DisabledReason, string> = {
  by_owner: 'someone who may change the app switched it off',
  failing: 'it failed for days',
  gone: 'it responded with 410 Gone',
};

/**
 * Disables the endpoint, and notifies the owners of its app. Needs a transaction. False if it was disabled already. If no
 * person did it, the audit entry is recorded here.
 */
export async function switchEndpointOff(
  tx: Database,
  id: string,
  reason: DisabledReason,
  now: number,
): Promise<boolean> {
  if (!(await markEndpointDisabled(tx, id, reason, now))) return false;
  const found = await tx
    .selectFrom('endpoints')
    .innerJoin('apps', 'apps.id', 'endpoints.app_id')
    .select(['endpoints.url', 'apps.name as app', 'apps.id as appId', 'apps.owner_business_id as businessId'])
    .where('endpoints.id', '=', id)
    .executeTakeFirst();
  if (!found) return true;
  const { host } = new URL(found.url);
  const { app, appId, businessId } = found;
  const values = { app, appId, businessId: businessId ?? '', host, why: reason };
  if (reason !== 'by_owner') {
    const subject = { kind: 'endpoint', id, name: host } as const;
    const detail = { app: found.app, why: REASONS[reason] };
    const entry = {
      action: 'endpoint.disabled',
      actor: AUTOMATIC,
      businessId: found.businessId,
      subject,
      detail,
    } as const;
    await recordAudit(tx, entry, now);
  }
  await notifyOwners(tx, found.businessId, { kind: 'endpoint_disabled', values, cause: id }, now);
  return true;
}
