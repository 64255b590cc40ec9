import { findBusiness } from '../accounts/businesses.ts';
import type { Member, Ownership, Role } from '../accounts/memberships.ts';
import { notify } from '../accounts/notices.ts';
import type { App } from '../apps/apps.ts';
import { type Actor, recordAudit } from '../audit/entries.ts';
import { recordEvents } from '../events/events.ts';
import { FormError } from '../lib/errors.ts';
import { commonScopes, formatScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import type { Database } from '../storage/storage.ts';
import type { ConnectionFilter, ConnectionKey } from './connection-rows.ts';
import { type Connection, listConnections, type Named } from './connections.ts';
import { type Consent, findConsentForUpdate, forgetConsents, saveConsent } from './consents.ts';
import { limitLater } from './full-connections.ts';
import { deleteHandover } from './handover-rows.ts';
import { transferGrants } from './transferred-grants.ts';

export type { ConnectedFor } from '../storage/app-tables.ts';

/** Per query. A longer list would exceed the limits of SQLite on the size of an expression. */
const BATCH = 100;

/**
 * The tokens of a public app are on a device of the person who connected it, or in their account at the app: such a
 * connection has to end with the membership. Apps of the platform show no consent screen on which a user could choose.
 */
export function canConnectForBusiness({ isPublic, ownerScope }: App): boolean {
  return !isPublic && ownerScope !== 'platform';
}

/** Members connect apps for themselves only. */
export function mayConnectForBusiness(app: App, role: Role | undefined): boolean {
  return (role === 'owner' || role === 'admin') && canConnectForBusiness(app);
}

/** The owner who makes the change, otherwise the longest-standing other owner. */
export function findSuccessor({ member, ownersBySeniority }: Ownership, actor: Pick<Actor, 'id'>): Member | undefined {
  const others = ownersBySeniority.filter(({ id }) => id !== member?.id);
  return others.find(({ id }) => id === actor.id) ?? others[0];
}

/** For the audit log. */
type Cause = 'member removed' | 'member left' | 'account deleted' | 'role changed' | 'taken over' | 'handed over';

export interface Transfer {
  from: Named;
  to: Named;
  businessId: string;
  cause: Cause;
}

/**
 * Needs a transaction that has locked both memberships. Makes another owner responsible for the connection. Grants
 * for the user of a connection for the business stay with the user. Merges with what the new owner has allowed the app.
 * Returns whether a grant stayed because its code was exchanged so recently.
 */
export async function transferConnection(
  actor: Actor,
  tx: Database,
  { from, to, businessId, cause, connection }: Transfer & { connection: Connection },
  now: number,
): Promise<{ isTooRecent: boolean }> {
  const { app, connectedFor, scopes } = connection;
  const key = { appId: app.id, businessId, userId: from.id };
  // Consents before grants: a grant that relies on the consent either moves below, or waits and finds no consent.
  const { allowed: before, expiresAt } = await findConsentForUpdate(tx, key, now);
  await deleteHandover(tx, key);
  await forgetConsents(tx, key);
  const allowed = commonScopes(before, scopes);
  if (allowed.length > 0) await addToConsent(tx, { ...key, userId: to.id }, { allowed, expiresAt }, now);
  const moved: ConnectedFor[] = connectedFor === 'business' ? ['business'] : ['user', 'business'];
  const transferred = await transferGrants(tx, { ...key, to: to.id, connectedFor: moved, scopes }, now);
  if (transferred.moved.length > 0) await limitLater(tx, { ...key, userId: to.id }, now);
  await recordEvents(tx, transferred.moved.map(transferredEvent(key, to)), now);
  const detail = { from: from.name, to: to.name, why: cause, scope: formatScopes(scopes) };
  const was = connectedFor === 'user' && { was: 'for the user' };
  const subject = { kind: 'app', id: app.id, name: app.name } as const;
  await recordAudit(
    tx,
    { action: 'grant.transferred', actor, businessId, subject, detail: { ...detail, ...was } },
    now,
  );
  if (to.id !== actor.id) await notifyOfTransfer(tx, { from, to, businessId, app }, now);
  return transferred;
}

/** If the two have different ends, the consent gets the earlier one: the user then sees the consent screen again. */
async function addToConsent(
  tx: Database,
  key: ConnectionKey,
  { allowed, expiresAt }: Pick<Consent, 'allowed' | 'expiresAt'>,
  now: number,
): Promise<void> {
  const own = await findConsentForUpdate(tx, key, now);
  const ends = [expiresAt, own.expiresAt].filter((end) => end !== null);
  const end = ends.length > 0 ? Math.min(...ends) : null;
  await saveConsent(tx, key, { allowed, declined: [], connectedFor: 'business', expiresAt: end }, now);
}

function transferredEvent({ userId, ...audience }: ConnectionKey, to: Named) {
  return (grantId: string) => {
    const data = { grantId, userId: to.id, previousUserId: userId };
    return { type: 'grant.transferred' as const, ...audience, data };
  };
}

async function notifyOfTransfer(
  tx: Database,
  { from, to, businessId, app }: Omit<Transfer, 'cause'> & { app: App },
  now: number,
): Promise<void> {
  const business = (await findBusiness(tx, businessId))?.name ?? '';
  const values = { app: app.name, business, businessId, from: from.name };
  await notify(tx, [to.id], { kind: 'connection_transferred', values }, now);
}

/** Needs a transaction that has locked both memberships. Moves every connection for the business. */
export async function transferBusinessConnections(
  actor: Actor,
  tx: Database,
  transfer: Transfer,
  now: number,
): Promise<void> {
  const { from, businessId } = transfer;
  const filter: ConnectionFilter = {
    businessIds: [businessId],
    userId: from.id,
    forBusiness: 'only',
    limit: BATCH,
  };
  for (let batch = [] as Connection[], isMore = true; isMore; isMore = batch.length === BATCH) {
    batch = await listConnections(tx, filter, now);
    for (const connection of batch) await transferConnection(actor, tx, { ...transfer, connection }, now);
  }
}

/** An owner becomes responsible only for scopes that the page showed: the app may have been allowed more since. */
export function rejectUnseenScopes({ app, scopes }: Connection, seen: Scopes, field: string): void {
  if (scopesBeyond(scopes, seen).length === 0) return;
  throw new FormError(field, `What ${app.name} may do has changed. Review it again.`);
}
