import { type AuditedApp, recordAppAudit } from '../apps/app-audit.ts';
import type { Actor } from '../audit/entries.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { formatCount } from './counts.ts';
import { requestFollowUp } from './follow-ups.ts';
import { countAffected } from './impact.ts';
import { stop } from './stops.ts';

const REASON = 'app_tokens_ended';

/**
 * Ends every token and code that the app got until now, such as after a leak. Consents stay: users allow the app again without a
 * question. Returns how many connections had one.
 */
export async function endTokensOfApp(actor: Actor, db: Database, app: AuditedApp, now: number): Promise<string> {
  const impact = await countAffected(db, { appId: app.id }, now);
  const connections = formatCount(impact.connections, impact);
  await inTransaction(db, async (tx) => {
    await stop(tx, { appId: app.id }, REASON, now);
    await requestFollowUp(tx, { kind: 'end', appId: app.id, reason: REASON }, now);
    await recordAppAudit(actor, tx, { action: 'app.tokens_ended', app, detail: { connections } }, now);
  });
  return connections;
}
