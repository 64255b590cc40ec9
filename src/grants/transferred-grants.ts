import { parseScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import type { Database } from '../storage/storage.ts';
import { markForUser, moveGrant } from './grants.ts';
import { type Grant, lockUnrevoked, selectBetween } from './status.ts';

interface Transfer extends Pick<Grant, 'appId' | 'businessId' | 'userId'> {
  to: string;
  /** Which grants move. */
  connectedFor: ConnectedFor[];
  /** What the new owner is responsible for. */
  scopes: Scopes;
}

/**
 * Needs a transaction. Returns the ids of the grants that moved.
 *
 * A code that is not exchanged yet does not move. The browser of the person who clicked Allow holds it, and an app signs in the
 * user of the code. If the code moved, that person could sign in to the app as the new owner.
 */
export async function transferGrants(db: Database, transfer: Transfer, now: number): Promise<string[]> {
  const { to, scopes } = transfer;
  const grants = await lockGrants(db, transfer);
  const [codes, moved] = [grants.filter(({ isCode }) => isCode), grants.filter(({ isCode }) => !isCode)];
  for (const { id, granted, withdrawn } of moved) {
    // The app may be registered again for a scope that it lacks now: it must not get a scope that the new owner has not
    // seen.
    const unseen = scopesBeyond(granted, [...scopes, ...withdrawn]);
    await moveGrant(db, { id, to, withdrawnScopes: [...withdrawn, ...unseen] }, now);
  }
  const ids = codes.map(({ id }) => id);
  await markForUser(db, ids);
  return moved.map(({ id }) => id);
}

/** Locked first: a code may be exchanged at the same time. */
async function lockGrants(db: Database, { connectedFor, ...parties }: Transfer) {
  const rows = await lockUnrevoked(selectBetween(db, parties).where('connected_for', 'in', connectedFor));
  return rows.map((row) => ({
    id: row.id,
    granted: parseScopes(row.scopes),
    withdrawn: parseScopes(row.withdrawn_scopes),
    isCode: row.exchanged_at === null,
  }));
}
