import type { App } from '../apps/apps.ts';
import { type Actor, recordAudit } from '../audit/entries.ts';
import { recordEvent } from '../events/events.ts';
import { commonScopes, formatScopes, parseScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import type { Named } from './connections.ts';
import { withdrawFromConsent } from './consents.ts';
import { type Grant, markWithdrawn } from './grants.ts';
import { revokeGrant } from './revocation.ts';
import { lockUnrevoked, selectBetween } from './status.ts';

interface Narrowing {
  app: App;
  businessId: string;
  user: Named;
  withdrawn: Scopes;
}

/**
 * The platform's own apps get their scopes without a consent screen, so the next authorization would grant withdrawn
 * scopes again.
 */
export function canNarrow({ ownerScope, isPublic }: Pick<App, 'ownerScope' | 'isPublic'>): boolean {
  return ownerScope !== 'platform' || isPublic;
}

/**
 * The user or an owner withdraws scopes of a connection. Its tokens lose them at once, and the consent no longer has them.
 * A grant that has no scope left ends. False if nothing was left to withdraw.
 */
export async function narrowConnection(
  actor: Actor,
  db: Database,
  { app, businessId, user, withdrawn }: Narrowing,
  now: number,
): Promise<boolean> {
  if (!canNarrow(app)) return false;
  const parties = { appId: app.id, businessId, userId: user.id };
  return inTransaction(db, async (tx) => {
    // In this order: a grant that relies on the consent is either narrowed below, or waits and finds a smaller consent.
    const forgotten = await withdrawFromConsent(tx, parties, withdrawn, now);
    const grants = await lockGrants(tx, parties);
    const lost = grants.map((grant) => commonScopes(grant.scopes, withdrawn));
    for (const [index, grant] of grants.entries()) await narrowGrant(actor, tx, grant, lost[index] ?? [], now);
    const all = commonScopes(app.allowedScopes, [...forgotten, ...lost.flat()]);
    if (all.length === 0) return false;
    const subject = { kind: 'app' as const, id: app.id, name: app.name };
    const detail = { user: user.name, scope: formatScopes(all) };
    await recordAudit(tx, { action: 'grant.narrowed', actor, businessId, subject, detail }, now);
    return true;
  });
}

type Narrowed = Pick<Grant, 'id' | 'appId' | 'businessId' | 'userId' | 'scopes' | 'withdrawnScopes'>;

async function lockGrants(tx: Database, parties: Pick<Grant, 'appId' | 'businessId' | 'userId'>): Promise<Narrowed[]> {
  const rows = await lockUnrevoked(selectBetween(tx, parties));
  return rows.map((row) => {
    const withdrawnScopes = parseScopes(row.withdrawn_scopes);
    return { id: row.id, ...parties, scopes: scopesBeyond(parseScopes(row.scopes), withdrawnScopes), withdrawnScopes };
  });
}

async function narrowGrant(actor: Actor, tx: Database, grant: Narrowed, lost: Scopes, now: number): Promise<void> {
  if (lost.length === 0) return;
  const { id: grantId, appId, businessId, userId } = grant;
  const scopes = scopesBeyond(grant.scopes, lost);
  if (scopes.length === 0) {
    await revokeGrant(tx, grantId, actor.id === userId ? 'disconnected_by_user' : 'disconnected_by_owner', now);
    return;
  }
  await markWithdrawn(tx, grantId, [...grant.withdrawnScopes, ...lost]);
  const data = { grantId, userId, scopes, withdrawnScopes: lost };
  await recordEvent(tx, { type: 'grant.narrowed', appId, businessId, data }, now);
}
