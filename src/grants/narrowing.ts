import type { App } from '../apps/apps.ts';
import { type Actor, recordAudit } from '../audit/entries.ts';
import { recordEvents } from '../events/events.ts';
import { commonScopes, formatScopes, parseScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { markWithdrawn } from './connection-grants.ts';
import type { Named } from './connections.ts';
import { withdrawFromConsent } from './consents.ts';
import { revokeGrants } from './revocation.ts';
import { type GrantParties, listScopeGroups, type ScopeGroup, selectUnrevokedBetween } from './status.ts';

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
    const groups = await listScopeGroups(selectUnrevokedBetween(tx, parties));
    const lost = [];
    for (const group of groups) lost.push(...(await narrowGroup(actor, tx, { ...parties, ...group }, withdrawn, now)));
    const all = commonScopes(app.allowedScopes, [...forgotten, ...lost]);
    if (all.length === 0) return false;
    const subject = { kind: 'app' as const, id: app.id, name: app.name };
    const detail = { user: user.name, scope: formatScopes(all) };
    await recordAudit(tx, { action: 'grant.narrowed', actor, businessId, subject, detail }, now);
    return true;
  });
}

type Group = Required<GrantParties> & ScopeGroup;

/** However many grants have these scopes, it is one change. Returns what they have lost. */
async function narrowGroup(actor: Actor, tx: Database, group: Group, withdrawn: Scopes, now: number): Promise<Scopes> {
  const { appId, businessId, userId, scopes, withdrawn_scopes } = group;
  const earlier = parseScopes(withdrawn_scopes);
  const current = scopesBeyond(parseScopes(scopes), earlier);
  const lost = commonScopes(current, withdrawn);
  if (lost.length === 0) return [];
  const left = scopesBeyond(current, lost);
  if (left.length === 0) {
    const reason = actor.id === userId ? 'disconnected_by_user' : 'disconnected_by_owner';
    const grants = selectUnrevokedBetween(tx, group).where('scopes', '=', scopes);
    await revokeGrants(tx, grants.where('withdrawn_scopes', '=', withdrawn_scopes), reason, now);
    return lost;
  }
  const narrowed = await markWithdrawn(tx, group, [...earlier, ...lost]);
  const events = narrowed.map((grantId) => {
    const data = { grantId, userId, scopes: left, withdrawnScopes: lost };
    return { type: 'grant.narrowed' as const, appId, businessId, data };
  });
  await recordEvents(tx, events, now);
  return narrowed.length > 0 ? lost : [];
}
