import { firstIdAt, newId } from '../lib/ids.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database } from '../storage/storage.ts';
import type { Row } from '../storage/tables.ts';

/** Who did it: a user, a user in the name of the platform, an app, an operator on the command line, or someone unknown. */
export interface Actor {
  kind: 'user' | 'platform' | 'app' | 'operator' | 'anonymous';
  id: string | null;
  name: string;
  /** Of a person: anyone can take the name of another, and nobody their email. */
  email: string | null;
  /** From where; null on the command line. */
  address: string | null;
}

/** A person, whose id is known. */
export type UserActor = Actor & { id: string };

export const OPERATOR: Actor = { kind: 'operator', id: null, name: 'Operator', email: null, address: null };

/** What each action is called where people read it. */
export const ACTIONS = {
  'app.registered': 'Registered the app',
  'app.changed': 'Changed the settings of the app',
  'app.disabled': 'Disabled the app',
  'app.enabled': 'Enabled the app',
  'app.deleted': 'Deleted the app',
  'app.paused': 'Paused the app everywhere',
  'app.resumed': 'Resumed the app',
  'secret.added': 'Added a secret to the app',
  'secret.removed': 'Removed a secret of the app',
  'endpoint.added': 'Added a webhook endpoint',
  'endpoint.changed': 'Changed a webhook endpoint',
  'endpoint.secret_replaced': 'Replaced the signing secret of a webhook endpoint',
  'endpoint.disabled': 'Switched a webhook endpoint off',
  'endpoint.enabled': 'Switched a webhook endpoint on',
  'endpoint.removed': 'Removed a webhook endpoint',
  'grant.allowed': 'Allowed the app',
  'grant.denied': 'Denied the app',
  'grant.disconnected': 'Disconnected the app',
  'grant.revoked': 'The app ended its own access',
  'member.invited': 'Invited someone',
  'member.invitation_withdrawn': 'Withdrew an invitation',
  'member.joined': 'Joined the business',
  'member.added': 'Added a member',
  'member.role_changed': 'Changed the role of a member',
  'member.removed': 'Removed a member',
  'session.started': 'Signed in',
  'session.failed': 'Failed to sign in',
  'session.ended': 'Ended a session',
  'session.others_ended': 'Signed out everywhere else',
  'user.added': 'Added the user',
  'user.renamed': 'Changed their name',
  'user.password_changed': 'Changed the password',
  'user.password_link_created': 'Created a link to set a new password',
  'user.password_reset': 'Set a new password with a link',
  'user.email_verified': 'Marked the email address as verified',
  'user.disabled': 'Disabled the user',
  'user.enabled': 'Enabled the user',
  'passkey.added': 'Added a passkey',
  'passkey.removed': 'Removed a passkey',
  'passkey.all_removed': 'Removed all passkeys',
  'business.added': 'Added the business',
  'database.restored': 'Restored the database from a backup',
  'database.clock_confirmed': 'Confirmed the clock',
  'key.added': 'Added a key',
  'key.rotated': 'Put another key in front',
  'key.removed': 'Removed keys',
  'key.resealed': 'Concealed what is stored with the first key',
} as const;

export type Action = keyof typeof ACTIONS;

/** What an action is done to: the first word of its name. */
export const GROUPS = {
  app: 'Apps',
  secret: 'Secrets',
  endpoint: 'Webhooks',
  grant: 'Connected apps',
  member: 'Members',
  business: 'Businesses',
  user: 'Users',
  session: 'Sessions',
  passkey: 'Passkeys',
  key: 'Keys',
  database: 'Database',
} as const;

export type Group = keyof typeof GROUPS;

/** One thing that someone did. Names are kept as they were: what was renamed or removed since can still be told. */
export interface NewAct {
  action: Action;
  actor: Actor;
  /** Whose owners may see it; null where it concerns the platform, or one person, alone. */
  businessId: string | null;
  subject: { kind: SubjectKind; id: string; name: string };
  /** More in words, never a secret: a role, an address, an event. */
  detail?: Record<string, string>;
}

type SubjectKind = 'app' | 'endpoint' | 'business' | 'user' | 'session' | 'invitation' | 'passkey' | 'key' | 'database';

/** In the same transaction as the act itself, so that neither exists without the other. */
export async function recordAudit(db: Database, act: NewAct, now: number): Promise<void> {
  const { action, actor, businessId, subject, detail = {} } = act;
  await insertAct(db, {
    id: newId(now),
    at: now,
    action,
    actor_kind: actor.kind,
    actor_id: actor.id,
    actor_name: actor.name,
    actor_email: actor.email,
    address: actor.address,
    business_id: businessId,
    subject_kind: subject.kind,
    subject_id: subject.id,
    subject_name: subject.name,
    detail: JSON.stringify(detail),
  });
}

const insertAct = preparedQuery((db, act: Row<'audit_entries'>) =>
  db.insertInto('audit_entries').values({
    id: act.id,
    at: act.at,
    action: act.action,
    actor_kind: act.actor_kind,
    actor_id: act.actor_id,
    actor_name: act.actor_name,
    actor_email: act.actor_email,
    address: act.address,
    business_id: act.business_id,
    subject_kind: act.subject_kind,
    subject_id: act.subject_id,
    subject_name: act.subject_name,
    detail: act.detail,
  }),
);

/**
 * Removes the oldest entries from before a time, at most so many. The triggers of the table reject every other removal: they
 * allow this one inside its transaction only.
 */
export async function removeOldActs(db: Database, limit: number, before: number): Promise<number> {
  if ((await findOldActs(db, 1, before)).length === 0) return 0;
  return db.transaction().execute(async (tx) => {
    await tx.updateTable('audit_retention').set({ removable_before: before }).execute();
    const old = await findOldActs(tx, limit, before);
    if (old.length > 0) await tx.deleteFrom('audit_entries').where('id', 'in', old).execute();
    await tx.updateTable('audit_retention').set({ removable_before: 0 }).execute();
    return old.length;
  });
}

async function findOldActs(db: Database, limit: number, before: number): Promise<string[]> {
  const old = db.selectFrom('audit_entries').select('id').where('id', '<', firstIdAt(before)).where('at', '<', before);
  return (await old.orderBy('id').limit(limit).execute()).map(({ id }) => id);
}
