import { parseScopes, type Scopes, scopesBeyond } from '../lib/scope-lists.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database } from '../storage/storage.ts';
import { markForUser, moveGrants } from './connection-grants.ts';
import type { Grant } from './grant.ts';
import { CODE_LIFETIME } from './lifetimes.ts';
import { listScopeGroups, selectUnrevokedBetween } from './status.ts';

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
  const { to, connectedFor, scopes, ...parties } = transfer;
  const exchangedBy = now - SIGN_IN_TIME;
  const groups = await listScopeGroups(selectUnrevokedBetween(db, parties).where('connected_for', 'in', connectedFor));
  const moved = [];
  for (const group of groups) {
    const withdrawn = parseScopes(group.withdrawn_scopes);
    // The app may be registered again for a scope that it lacks now: it must not get a scope that the new owner has not
    // seen.
    const unseen = scopesBeyond(parseScopes(group.scopes), [...scopes, ...withdrawn]);
    const withdrawnScopes = [...withdrawn, ...unseen];
    const move = { group: { ...parties, ...group }, connectedFor, exchangedBy, to, withdrawnScopes };
    moved.push(...(await moveGrants(db, move, now)));
  }
  const kept = await markForUser(db, parties, connectedFor);
  return { moved, isTooRecent: kept.some((exchangedAt) => exchangedAt !== null) };
}

/** The user who allowed the app. A grant that has moved is of another user now, but its app sends the same requests again. */
export async function findFirstUser(
  db: Database,
  { grantId, userId, connectedFor }: Pick<Grant, 'userId' | 'connectedFor'> & { grantId: string },
): Promise<string> {
  // What has moved is for the business.
  if (connectedFor === 'user') return userId;
  const { rows } = await readFirstUser(db, { grantId });
  return rows[0]?.userId ?? userId;
}

const readFirstUser = preparedQuery((db, { grantId }: { grantId: string }) =>
  db.selectFrom('grants').select('first_user_id as userId').where('id', '=', grantId),
);
