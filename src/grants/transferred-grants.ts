import { parseScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import type { Database } from '../storage/storage.ts';
import type { Grant } from './grant.ts';
import { markForUser, moveGrant } from './grants.ts';
import { CODE_LIFETIME } from './lifetimes.ts';
import { lockUnrevoked, selectBetween } from './status.ts';

interface Transfer extends Pick<Grant, 'appId' | 'businessId' | 'userId'> {
  to: string;
  /** Which grants move. */
  connectedFor: ConnectedFor[];
  /** What the new owner is responsible for. */
  scopes: Scopes;
}

interface Transferred {
  /** The ids of the grants that moved. */
  moved: string[];
  /** Whether a grant stayed because its code was exchanged so recently. */
  isTooRecent: boolean;
}

/**
 * How long after the exchange of its code a grant stays with its user. The token response names no user: an app that signs its
 * users in reads `/me` afterwards.
 */
const SIGN_IN_TIME = CODE_LIFETIME;

/**
 * Needs a transaction.
 *
 * A grant does not move before its code is exchanged, nor right afterwards. The browser of the person who clicked Allow holds the
 * code, and an app signs in the user of the grant. If the grant moved, that person could sign in to the app as the new owner.
 */
export async function transferGrants(db: Database, transfer: Transfer, now: number): Promise<Transferred> {
  const { to, scopes } = transfer;
  const grants = await lockGrants(db, transfer);
  const isRecent = ({ exchangedAt }: LockedGrant) => exchangedAt !== null && now - exchangedAt < SIGN_IN_TIME;
  const kept = grants.filter((grant) => grant.exchangedAt === null || isRecent(grant));
  const moved = grants.filter((grant) => !kept.includes(grant));
  for (const { id, granted, withdrawn } of moved) {
    // The app may be registered again for a scope that it lacks now: it must not get a scope that the new owner has not
    // seen.
    const unseen = scopesBeyond(granted, [...scopes, ...withdrawn]);
    await moveGrant(db, { id, to, withdrawnScopes: [...withdrawn, ...unseen] }, now);
  }
  const ids = kept.map(({ id }) => id);
  await markForUser(db, ids);
  return { moved: moved.map(({ id }) => id), isTooRecent: kept.some(isRecent) };
}

type LockedGrant = Awaited<ReturnType<typeof lockGrants>>[number];

/** Locked first: a code may be exchanged at the same time. */
async function lockGrants(db: Database, { connectedFor, ...parties }: Transfer) {
  const rows = await lockUnrevoked(selectBetween(db, parties).where('connected_for', 'in', connectedFor));
  return rows.map((row) => ({
    id: row.id,
    granted: parseScopes(row.scopes),
    withdrawn: parseScopes(row.withdrawn_scopes),
    exchangedAt: row.exchanged_at,
  }));
}
