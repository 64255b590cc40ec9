import { listMemberships } from '../accounts/memberships.ts';
import { listPasskeys } from '../accounts/passkeys.ts';
import { listSessions } from '../accounts/sessions.ts';
import type { User } from '../accounts/users.ts';
import type { AuditEntry } from '../audit/log.ts';
import { listEntriesOfUser } from '../audit/search.ts';
import type { Database } from '../storage/storage.ts';
import { listConnections } from './connections.ts';

const MAX_SESSIONS = 1000;
const MAX_CONNECTIONS = 1000;
const MAX_ENTRIES = 10_000;

/**
 * What is stored about a user, as they can download it. Contains no secret. Of other people, it contains only names
 * that the user can see on pages.
 */
export async function exportAccount(db: Database, { user, client }: { user: User; client: AbortSignal }, now: number) {
  const memberships = await listMemberships(db, user.id);
  const sessions = await listSessions(db, { userId: user.id, limit: MAX_SESSIONS }, now);
  const entries = await listEntriesOfUser(db, { userId: user.id, limit: MAX_ENTRIES, client });
  return {
    exported_at: toIso(now),
    account: accountOf(user),
    memberships: memberships.map(({ businessId, businessName, role, since }) => ({
      business: { id: businessId, name: businessName },
      role,
      since: toIso(since),
    })),
    passkeys: (await listPasskeys(db, user.id)).map(({ name, createdAt, lastUsedAt }) => ({
      name,
      created_at: toIso(createdAt),
      last_used_at: toIso(lastUsedAt),
    })),
    sessions: sessions.map(({ browser, address, signedInAt, lastSeenAt }) => ({
      browser,
      address,
      signed_in_at: toIso(signedInAt),
      last_seen_at: toIso(lastSeenAt),
    })),
    connections: await listOwnConnections(db, user, now),
    sign_ins: entries.filter(({ action }) => action.startsWith('session.')).map((entry) => entryFor(user, entry)),
    audit_log: entries.filter(({ action }) => !action.startsWith('session.')).map((entry) => entryFor(user, entry)),
  };
}

function accountOf(user: User) {
  return {
    id: user.id,
    email: user.email,
    email_verified_at: toIso(user.emailVerifiedAt),
    name: user.name,
    language: user.language,
    platform_admin: user.isPlatformAdmin,
    created_at: toIso(user.createdAt),
    last_signed_in_at: toIso(user.lastSignedInAt),
  };
}

async function listOwnConnections(db: Database, user: User, now: number) {
  const businessIds = (await listMemberships(db, user.id)).map(({ businessId }) => businessId);
  const all = await listConnections(db, { businessIds, userId: user.id, limit: MAX_CONNECTIONS }, now);
  return all.map(({ app, business, connectedFor, scopes, since, expiresAt, lastUsedAt }) => ({
    app: { id: app.id, name: app.name },
    business,
    connected_for: connectedFor,
    scopes: [...scopes],
    since: toIso(since),
    until: toIso(expiresAt),
    last_used_at: toIso(lastUsedAt),
  }));
}

/**
 * Leaves out the addresses of other people, which are their own data, and the names of platform admins, who act as the
 * platform.
 */
function entryFor(user: User, { at, action, actor, business, subject, detail }: AuditEntry) {
  const isOwn = actor.id === user.id;
  const name = actor.kind === 'platform' && !isOwn ? null : actor.name;
  // A failed sign-in was tried at this account, and its user sees from where on the account page.
  const address = isOwn || actor.kind === 'anonymous' ? actor.address : null;
  return { at: toIso(at), action, by: { kind: isOwn ? 'you' : actor.kind, name, address }, business, subject, detail };
}

function toIso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
