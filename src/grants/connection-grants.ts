import { formatScopes, type Scopes } from '../lib/scope-lists.ts';
import type { ConnectedFor } from '../storage/app-tables.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database } from '../storage/storage.ts';
import { updateUnrevoked } from './grants.ts';
import type { GrantParties, ScopeGroup } from './status.ts';
import { selectCount } from './stops.ts';

type ConnectionGroup = Required<GrantParties> & ScopeGroup;

function updateGroup(db: Database, { scopes, withdrawn_scopes, ...parties }: ConnectionGroup) {
  return updateUnrevoked(db, parties).where('scopes', '=', scopes).where('withdrawn_scopes', '=', withdrawn_scopes);
}

interface GroupMove {
  group: ConnectionGroup;
  /** Which grants move. */
  connectedFor: ConnectedFor[];
  /** Only grants whose code was exchanged by this time. */
  exchangedBy: number;
  to: string;
  withdrawnScopes: Scopes;
}

/**
 * Needs a transaction. The grants are for the business and of another user from now on. They count as created now, because a grant
 * works only if its user has been a member since before it was created. Returns their ids.
 */
export async function moveGrants(
  db: Database,
  { group, connectedFor, exchangedBy, to, withdrawnScopes }: GroupMove,
  now: number,
): Promise<string[]> {
  const moved = await updateGroup(db, group)
    .set({ user_id: to, connected_for: 'business', created_at: now, withdrawn_scopes: formatScopes(withdrawnScopes) })
    .set(({ eb, ref, fn }) => ({
      // Of the user before, the counter is subtracted, and not forgotten: a grant that was stopped stays so.
      stops: eb(eb(ref('grants.stops'), '+', selectCount(db, to)), '-', selectCount(db, group.userId)),
      first_user_id: fn.coalesce('grants.first_user_id', 'grants.user_id'),
    }))
    .where('connected_for', 'in', connectedFor)
    .where('exchanged_at', '<=', exchangedBy)
    .returning('id')
    .execute();
  return moved.map(({ id }) => id);
}

/** Needs a transaction. Returns when their codes were exchanged. */
export async function markForUser(db: Database, parties: Required<GrantParties>, connectedFor: ConnectedFor[]) {
  const kept = await updateUnrevoked(db, parties)
    .set({ connected_for: 'user' })
    .where('connected_for', 'in', connectedFor)
    .returning('exchanged_at')
    .execute();
  return kept.map((grant) => grant.exchanged_at);
}

/** Earlier grants of the same parties end at this time, too. Those that end before are not extended. */
export async function limitGrants(db: Database, parties: Required<GrantParties>, expiresAt: number): Promise<void> {
  await updateEnd(db, { ...parties, expiresAt });
}

const updateEnd = preparedQuery(
  (db, { appId, businessId, userId, expiresAt }: Required<GrantParties> & { expiresAt: number }) =>
    updateUnrevoked(db, { appId, businessId, userId })
      .set({ expires_at: expiresAt })
      .where(({ or, eb }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', expiresAt)])),
);

/** Needs a transaction. Returns the ids of the grants. */
export async function markWithdrawn(db: Database, group: ConnectionGroup, withdrawn: Scopes): Promise<string[]> {
  const marked = await updateGroup(db, group)
    .set({ withdrawn_scopes: formatScopes(withdrawn) })
    .returning('id')
    .execute();
  return marked.map(({ id }) => id);
}
