import type { AliasableExpression, QueryCreator, SelectQueryBuilder } from 'kysely';
import { firstIdAt, newId } from '../lib/ids.ts';
import type { DependentQuery } from '../storage/chained-writes.ts';
import { jsonRows } from '../storage/json-rows.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database } from '../storage/storage.ts';
import type { Row, Tables } from '../storage/tables.ts';

/** Who made the change. `platform`: a platform admin, on the platform's pages. `operator`: on the command line. */
export interface Actor {
  kind: 'user' | 'platform' | 'app' | 'operator' | 'anonymous';
  id: string | null;
  name: string;
  /** The address of a user: names are not unique, addresses are. */
  email: string | null;
  /** The IP address; null on the command line. */
  address: string | null;
}

export type UserActor = Actor & { id: string };

/** The server itself, such as when it switches off an endpoint that fails for days. */
export const AUTOMATIC: Actor = { kind: 'platform', id: null, name: 'Automatic', email: null, address: null };

export const OPERATOR: Actor = { kind: 'operator', id: null, name: 'Operator', email: null, address: null };

/** Every action, with its text on pages and in exports. */
export const ACTIONS = {
  'app.registered': 'Registered the app',
  'app.changed': 'Changed the settings of the app',
  'app.disabled': 'Disabled the app',
  'app.enabled': 'Enabled the app',
  'app.deleted': 'Deleted the app',
  'app.tokens_ended': 'Ended every token of the app',
  'app.paused': 'Paused the app everywhere',
  'app.resumed': 'Resumed the app',
  'app.verified': 'Verified the publisher of the app',
  'app.verification_removed': 'Removed the Verified publisher badge',
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
  'grant.narrowed': 'Withdrew permissions of the app',
  'grant.disconnected': 'Disconnected the app',
  'grant.transferred': 'Moved a connection for the business to another owner',
  'grant.handover_offered': 'Asked another owner to become responsible for a connection',
  'grant.handover_declined': 'Declined to become responsible for a connection',
  'grant.handover_withdrawn': 'Withdrew a hand-over of a connection',
  'grant.revoked': 'The app ended its own access',
  'grant.approval_requested': 'Asked for approval of the app',
  'grant.approved': 'Approved the app',
  'grant.approval_refused': 'Refused the app',
  'grant.approval_withdrawn': 'Withdrew a decision about the app',
  'grant.app_blocked': 'Blocked the app',
  'grant.app_unblocked': 'Unblocked the app',
  'member.invited': 'Invited someone',
  'member.invitation_withdrawn': 'Withdrew an invitation',
  'member.joined': 'Joined the business',
  'member.added': 'Added a member',
  'member.role_changed': 'Changed the role of a member',
  'member.removed': 'Removed a member',
  'session.started': 'Signed in',
  'session.failed': 'Failed to sign in',
  'session.member_started': 'Signed in',
  'session.member_failed': 'Failed to sign in',
  'session.ended': 'Ended a session',
  'session.others_ended': 'Signed out everywhere else',
  'user.added': 'Added the user',
  'user.renamed': 'Changed their name',
  'user.password_changed': 'Changed the password',
  'user.password_link_created': 'Created a link to set a new password',
  'user.password_reset': 'Set a new password with a link',
  'user.email_verified': 'Marked the email address as verified',
  'user.email_change_requested': 'Asked to change the email address',
  'user.email_changed': 'Changed the email address',
  'user.deleted': 'Deleted their account',
  'user.disabled': 'Disabled the user',
  'user.enabled': 'Enabled the user',
  'user.connections_ended': 'Ended all connections of the user',
  'passkey.added': 'Added a passkey',
  'passkey.removed': 'Removed a passkey',
  'passkey.all_removed': 'Removed all passkeys',
  'factor.added': 'Set up two-step sign-in with an authenticator app',
  'factor.removed': 'Removed the authenticator app',
  'factor.recovery_codes_renewed': 'Created new recovery codes',
  'factor.recovery_code_used': 'Used a recovery code',
  'factor.required': 'Required two-step sign-in',
  'factor.optional': 'Made two-step sign-in optional',
  'business.added': 'Added the business',
  'business.renamed': 'Renamed the business',
  'business.app_policy_changed': 'Changed who may connect apps',
  'business.connection_ends_changed': 'Changed how long apps stay connected',
  'business.records_imported': 'Imported records',
  'database.restored': 'Restored the database from a backup',
  'database.clock_confirmed': 'Confirmed the clock',
  'key.added': 'Added a key',
  'key.rotated': 'Changed the signing key',
  'key.removed': 'Removed keys',
  'key.resealed': 'Encrypted the stored secrets with the first key',
} as const;

export type Action = keyof typeof ACTIONS;

/** Copies of `session.started` and `session.failed`, one for each business of the user. */
export const COPIES: Action[] = ['session.member_started', 'session.member_failed'];

/** By the first part of the action's name. */
export const ACTION_GROUPS = {
  app: 'Apps',
  secret: 'Secrets',
  endpoint: 'Webhooks',
  grant: 'Connected apps',
  member: 'Members',
  business: 'Businesses',
  user: 'Users',
  session: 'Sessions',
  passkey: 'Passkeys',
  factor: 'Two-step sign-in',
  key: 'Keys',
  database: 'Database',
} as const;

export type ActionGroup = keyof typeof ACTION_GROUPS;

/** Names are stored as they were at that time: the subject may be renamed or deleted later. */
export interface NewAuditEntry {
  action: Action;
  actor: Actor;
  /** The user whom the filter by person matches, if that is not the actor. */
  personId?: string;
  /** The business whose owners may see it; null if it concerns the platform or one user only. */
  businessId: string | null;
  subject: { kind: SubjectKind; id: string; name: string };
  /** Never a secret: a role, an address, an event type. */
  detail?: Record<string, string>;
}

type SubjectKind =
  | 'app'
  | 'endpoint'
  | 'business'
  | 'user'
  | 'session'
  | 'invitation'
  | 'passkey'
  | 'key'
  | 'platform'
  | 'database';

/** Call it in the transaction of the change itself, so that neither exists without the other. */
export async function recordAudit(db: Database, entry: NewAuditEntry, now: number): Promise<void> {
  await insertEntry(db, rowOf(entry, now));
}

/** One statement, also for no entries. */
export async function recordAuditEntries(db: Database, entries: NewAuditEntry[], now: number): Promise<void> {
  const rows = entries.map((entry) => rowOf(entry, now));
  await db
    .insertInto('audit_entries')
    .columns(COLUMNS)
    .expression(db.selectFrom(jsonRows(db, 'audit_entries', COLUMNS, rows)).select(COLUMNS))
    .execute();
}

function rowOf(entry: NewAuditEntry, now: number): Row<'audit_entries'> {
  const { action, actor, personId, businessId, subject, detail = {} } = entry;
  return {
    id: newId(now),
    at: now,
    action,
    actor_kind: actor.kind,
    actor_id: actor.id,
    person_id: personId ?? actor.id,
    actor_name: actor.name,
    actor_email: actor.email,
    address: actor.address,
    business_id: businessId,
    subject_kind: subject.kind,
    subject_id: subject.id,
    subject_name: subject.name,
    detail: JSON.stringify(detail),
  };
}

const COLUMNS = [
  'id',
  'at',
  'action',
  'actor_kind',
  'actor_id',
  'person_id',
  'actor_name',
  'actor_email',
  'address',
  'business_id',
  'subject_kind',
  'subject_id',
  'subject_name',
  'detail',
] as const;

const insertEntry = preparedQuery((db, entry: Row<'audit_entries'>) => {
  const values = Object.fromEntries(COLUMNS.map((column) => [column, entry[column]]));
  return db.insertInto('audit_entries').values(values as Row<'audit_entries'>);
});

type EntryColumns = { [Column in keyof Row<'audit_entries'>]: AliasableExpression<Row<'audit_entries'>[Column]> };

/** The entry of a change in a chain of writes. `source` has one row if the change happened. */
export function insertDependentEntry<Changed, From extends keyof Tables | 'changed', Joined>(
  dependent: DependentQuery<Changed>,
  source: SelectQueryBuilder<Tables & { changed: Changed }, From, Joined>,
  columns: EntryColumns,
) {
  const names = Object.keys(columns) as (keyof EntryColumns)[];
  const selected = source.select(names.map((name) => (columns[name] as AliasableExpression<unknown>).as(name)));
  return (dependent as unknown as QueryCreator<Tables>)
    .insertInto('audit_entries')
    .columns(names)
    .expression(selected as unknown as SelectQueryBuilder<Tables, 'audit_entries', Row<'audit_entries'>>);
}

/** Deletes the oldest entries before a time. The table's triggers reject every delete outside this transaction. */
export async function removeOldEntries(db: Database, limit: number, before: number): Promise<number> {
  if ((await findOldEntries(db, 1, before)).length === 0) return 0;
  return db.transaction().execute(async (tx) => {
    await tx.updateTable('audit_retention').set({ removable_before: before }).execute();
    const old = await findOldEntries(tx, limit, before);
    if (old.length > 0) await tx.deleteFrom('audit_entries').where('id', 'in', old).execute();
    await tx.updateTable('audit_retention').set({ removable_before: 0 }).execute();
    return old.length;
  });
}

async function findOldEntries(db: Database, limit: number, before: number): Promise<string[]> {
  const old = db.selectFrom('audit_entries').select('id').where('id', '<', firstIdAt(before)).where('at', '<', before);
  return (await old.orderBy('id').limit(limit).execute()).map(({ id }) => id);
}
