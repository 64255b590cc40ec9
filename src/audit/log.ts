import { expressionBuilder } from 'kysely';
import { firstIdAt, isId } from '../lib/ids.ts';
import { contains } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import type { Tables } from '../storage/tables.ts';
import { ACTIONS, type Action, type ActionGroup, type Actor, COPIES } from './entries.ts';

/** One entry of the audit log. */
export interface AuditEntry {
  id: string;
  at: number;
  action: string;
  actor: Actor;
  /** The business whose owners may see it, by its current name. */
  business: { id: string; name: string } | null;
  subject: { kind: string; id: string; name: string };
  detail: Record<string, string>;
}

/**
 * A business that reads its own log. It sees what a platform admin did as done by the platform: neither their name nor
 * their email nor their address, and no search finds an entry by one of these.
 */
export interface Tenant {
  businessId: string;
  platformName: string;
}

/** Which entries to read. An absent field excludes nothing. */
export interface AuditFilter {
  tenant?: Tenant | undefined;
  /** A part of a name, an email or an address, or a whole id. */
  search?: string | undefined;
  group?: ActionGroup | undefined;
  /** What this user or app did, and failed sign-ins to the account. */
  personId?: string | undefined;
  /** What it is about. */
  subjectId?: string | undefined;
  /** In milliseconds since 1970. */
  since?: number | undefined;
}

/** Where a list starts: at the newest entry before this id and before this time. */
export interface Start {
  before?: string | undefined;
  until?: number | undefined;
}

/** Ids begin with their time, so that one upper bound on the id covers both. */
export function startId({ before, until }: Start): string | undefined {
  const end = until === undefined ? undefined : firstIdAt(until);
  return before !== undefined && end !== undefined && end < before ? end : (before ?? end);
}

/** The part of the filter that an index covers: the business, the person, the subject and the time range. */
export function selectEntries(db: Database, { tenant, personId, subjectId, since }: AuditFilter) {
  let query = db
    .selectFrom('audit_entries')
    .leftJoin('businesses', 'businesses.id', 'audit_entries.business_id')
    .selectAll('audit_entries')
    .select('businesses.name as business_name');
  if (tenant) query = query.where('audit_entries.business_id', '=', tenant.businessId);
  else query = query.where('audit_entries.action', 'not in', COPIES);
  if (personId !== undefined) query = query.where('audit_entries.person_id', '=', personId);
  if (subjectId !== undefined) query = query.where('audit_entries.subject_id', '=', subjectId);
  // Ids begin with their time, so that the index on ids is also one on times.
  if (since !== undefined) query = query.where('audit_entries.id', '>=', firstIdAt(since));
  return query;
}

export type EntryQuery = ReturnType<typeof selectEntries>;
type EntryRow = Awaited<ReturnType<EntryQuery['executeTakeFirstOrThrow']>>;

/** The part of the filter that no index covers: it checks every row. */
export function applyFilter(query: EntryQuery, { tenant, search, group, personId }: AuditFilter): EntryQuery {
  let filtered = query;
  if (group !== undefined) filtered = filtered.where('audit_entries.action', 'in', actionsOf(group));
  // The owners of a business do not learn which platform admin did something.
  if (personId !== undefined && tenant) filtered = filtered.where('audit_entries.actor_kind', '!=', 'platform');
  if (!search) return filtered;
  if (!isId(search)) return filtered.where(contains(tenant ? searchedColumns(tenant) : SEARCHED, search));
  return filtered.where(({ eb, and, or }) => {
    const byActorId = eb('audit_entries.actor_id', '=', search);
    const visible = tenant ? and([byActorId, eb('audit_entries.actor_kind', '!=', 'platform')]) : byActorId;
    return or([eb('audit_entries.subject_id', '=', search), visible]);
  });
}

export function isFiltered({ search, group, personId }: AuditFilter): boolean {
  return Boolean(search) || group !== undefined || personId !== undefined;
}

const SEARCHED = [
  'audit_entries.actor_name',
  'audit_entries.actor_email',
  'audit_entries.address',
  'audit_entries.subject_name',
  'audit_entries.detail',
];

function searchedColumns({ platformName }: Tenant) {
  const eb = expressionBuilder<Tables, 'audit_entries'>();
  const unlessPlatform = (column: 'actor_name' | 'actor_email' | 'address', instead: string) =>
    eb
      .case()
      .when('audit_entries.actor_kind', '=', 'platform')
      // PostgreSQL cannot infer the parameter's type here.
      .then(eb.cast<string>(eb.val(instead), 'text'))
      .else(eb.ref(`audit_entries.${column}`))
      .end();
  return [
    unlessPlatform('actor_name', platformName),
    unlessPlatform('actor_email', ''),
    unlessPlatform('address', ''),
    'audit_entries.subject_name',
    'audit_entries.detail',
  ];
}

function actionsOf(group: ActionGroup): string[] {
  return Object.keys(ACTIONS).filter((action) => action.startsWith(`${group}.`));
}

export function toEntry(row: EntryRow, tenant: Tenant | undefined): AuditEntry {
  return {
    id: row.id,
    at: row.at,
    action: row.action,
    actor: toActor(row, tenant),
    business: row.business_id === null ? null : { id: row.business_id, name: row.business_name ?? '' },
    subject: { kind: row.subject_kind, id: row.subject_id, name: row.subject_name },
    detail: JSON.parse(row.detail),
  };
}

function toActor(row: EntryRow, tenant: Tenant | undefined): Actor {
  if (tenant && row.actor_kind === 'platform') {
    return { kind: 'platform', id: null, name: tenant.platformName, email: null, address: null };
  }
  return {
    kind: row.actor_kind,
    id: row.actor_id,
    name: row.actor_name,
    email: row.actor_email,
    address: row.address,
  };
}

/** Newest first; `before` is the last id of the previous page. Only for filters that an index covers. */
export async function listEntries(
  db: Database,
  { before, until, limit, ...filter }: AuditFilter & Start & { limit: number },
): Promise<AuditEntry[]> {
  let query = applyFilter(selectEntries(db, filter), filter);
  const start = startId({ before, until });
  if (start !== undefined) query = query.where('audit_entries.id', '<', start);
  const rows = await query.orderBy('audit_entries.id', 'desc').limit(limit).execute();
  return rows.map((row) => toEntry(row, filter.tenant));
}

/** Entries about one subject, newest first. */
export async function listEntriesOn(
  db: Database,
  { subjectId, actions, since, limit }: { subjectId: string; actions: Action[]; since?: number; limit: number },
): Promise<AuditEntry[]> {
  const rows = await selectEntries(db, { subjectId, since })
    .where('audit_entries.action', 'in', actions)
    .orderBy('audit_entries.id', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => toEntry(row, undefined));
}

/** The newest entry about a subject with this action. */
export async function findLastEntry(db: Database, subjectId: string, action: Action): Promise<AuditEntry | undefined> {
  const [last] = await listEntriesOn(db, { subjectId, actions: [action], limit: 1 });
  return last;
}

/** The text of an action; its name, if a newer version recorded it. */
export function actionName(action: string): string {
  return Object.hasOwn(ACTIONS, action) ? ACTIONS[action as Action] : action;
}

/** The details of an entry in one line. */
export function describeDetail(detail: Record<string, string>): string {
  const line = Object.entries(detail).map(describeOne).join('; ');
  return line.slice(0, 1).toUpperCase() + line.slice(1);
}

function describeOne([name, value]: [string, string]): string {
  if (name === 'with') return `with a ${value}`;
  if (name === 'how') return value;
  return `${name === 'scope' ? 'scopes' : name.replaceAll('_', ' ')}: ${value}`;
}
