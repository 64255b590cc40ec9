import { expressionBuilder } from 'kysely';
import { firstIdAt, isId } from '../lib/ids.ts';
import { contains } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import type { Tables } from '../storage/tables.ts';
import { ACTIONS, type Actor, type Group } from './acts.ts';

/** One entry of the audit log. */
export interface Act {
  id: string;
  at: number;
  action: string;
  actor: Actor;
  /** Whose owners may see it, by the name it has today. */
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

/** Which acts to read. An absent field excludes nothing. */
export interface ActFilter {
  tenant?: Tenant | undefined;
  /** A part of a name, an email or an address, or a whole id. */
  search?: string | undefined;
  group?: Group | undefined;
  actorId?: string | undefined;
  /** In milliseconds since 1970. */
  since?: number | undefined;
}

/** The acts of a business or of everyone, within the time range: what an index finds. */
export function selectActs(db: Database, { tenant, since }: ActFilter) {
  let query = db
    .selectFrom('audit_entries')
    .leftJoin('businesses', 'businesses.id', 'audit_entries.business_id')
    .selectAll('audit_entries')
    .select('businesses.name as business_name');
  if (tenant) query = query.where('audit_entries.business_id', '=', tenant.businessId);
  // Ids begin with their time, so that the index on ids is also one on times.
  if (since !== undefined) query = query.where('audit_entries.id', '>=', firstIdAt(since));
  return query;
}

export type ActQuery = ReturnType<typeof selectActs>;
type ActRow = Awaited<ReturnType<ActQuery['executeTakeFirstOrThrow']>>;

/** The rest of the filter: what has to be looked for row by row. */
export function matching(query: ActQuery, { tenant, search, group, actorId }: ActFilter): ActQuery {
  let narrowed = query;
  if (group !== undefined) narrowed = narrowed.where('audit_entries.action', 'in', actionsOf(group));
  if (actorId !== undefined) narrowed = byActor(narrowed, actorId, tenant);
  if (!search) return narrowed;
  if (!isId(search)) return narrowed.where(contains(tenant ? searchedBy(tenant) : SEARCHED, search));
  return narrowed.where(({ eb, and, or }) => {
    const byThem = eb('audit_entries.actor_id', '=', search);
    const visible = tenant ? and([byThem, eb('audit_entries.actor_kind', '!=', 'platform')]) : byThem;
    return or([eb('audit_entries.subject_id', '=', search), visible]);
  });
}

export function isNarrowed({ search, group, actorId }: ActFilter): boolean {
  return Boolean(search) || group !== undefined || actorId !== undefined;
}

function byActor(query: ActQuery, actorId: string, tenant: Tenant | undefined): ActQuery {
  const theirs = query.where('audit_entries.actor_id', '=', actorId);
  return tenant ? theirs.where('audit_entries.actor_kind', '!=', 'platform') : theirs;
}

const SEARCHED = [
  'audit_entries.actor_name',
  'audit_entries.actor_email',
  'audit_entries.address',
  'audit_entries.subject_name',
  'audit_entries.detail',
];

function searchedBy({ platformName }: Tenant) {
  const eb = expressionBuilder<Tables, 'audit_entries'>();
  const unlessPlatform = (column: 'actor_name' | 'actor_email' | 'address', instead: string) =>
    eb
      .case()
      .when('audit_entries.actor_kind', '=', 'platform')
      // PostgreSQL has to be told that the parameter is text.
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

function actionsOf(group: Group): string[] {
  return Object.keys(ACTIONS).filter((action) => action.startsWith(`${group}.`));
}

export function actFrom(row: ActRow, tenant: Tenant | undefined): Act {
  return {
    id: row.id,
    at: row.at,
    action: row.action,
    actor: actorFrom(row, tenant),
    business: row.business_id === null ? null : { id: row.business_id, name: row.business_name ?? '' },
    subject: { kind: row.subject_kind, id: row.subject_id, name: row.subject_name },
    detail: JSON.parse(row.detail),
  };
}

function actorFrom(row: ActRow, tenant: Tenant | undefined): Actor {
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
