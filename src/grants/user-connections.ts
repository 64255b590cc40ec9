import { recordUserAudit, type User } from '../accounts/users.ts';
import type { Actor } from '../audit/entries.ts';
import type { InactiveReason } from '../http/errors.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { forgetConsentsOfUser } from './consents.ts';
import { formatCount } from './counts.ts';
import { beginFollowUp } from './follow-ups.ts';
import { countAffected } from './impact.ts';
import { stop } from './stops.ts';

/**
 * Every app that the user has connected loses its access, in every business, and asks again; so do connections for a business that the
 * user is responsible for. Returns how many there were.
 */
export async function endConnectionsOfUser(actor: Actor, db: Database, user: User, now: number): Promise<string> {
  const impact = await countAffected(db, { userId: user.id }, now);
  const connections = formatCount(impact.connections, impact);
  await inTransaction(db, async (tx) => {
    await stopUser(tx, user.id, 'connections_ended', now);
    await recordUserAudit(actor, tx, { action: 'user.connections_ended', user, detail: { connections } }, now);
  });
  return connections;
}

/** Needs a transaction. */
export async function stopUser(tx: Database, userId: string, reason: InactiveReason, now: number): Promise<void> {
  await stop(tx, { userId }, reason, now);
  // In this order: a grant that relies on a consent is either marked below, or waits and finds no consent.
  await forgetConsentsOfUser(tx, userId);
  await beginFollowUp(tx, { kind: 'end', userId, reason }, now);
}
