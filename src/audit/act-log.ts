import { isId } from '../lib/ids.ts';
import { contains } from '../storage/search.ts';
import type { Database } from '../storage/storage.ts';
import { ACTIONS, type Action, type Actor, type Group } from './acts.ts';

/** One thing that someone did, as it is told afterwards. */
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

/** Which acts are asked for. Left out, a field asks for nothing. */
export interface ActFilter {
  businessId?: string | undefined;
  /** A part of a name, an email or an address, or a whole id. */
  search?: string | undefined;
  group?: Group | undefined;
  actorId?: string | undefined;
}

/** The newest first; `before` is the last one of the page before. */
export async function listActs(
  db: Database,
  { before, limit, ...filter }: ActFilter & { before?: string | undefined; limit: number },
): Promise<Act[]> {
  let query = selectActs(db, filter);
  if (before !== undefined) query = query.where('acts.id', '<', before);
  return (await query.orderBy('acts.id', 'desc').limit(limit).execute()).map(fromRow);
}

/** What was last done to something in this way. */
export async function findLastAct(db: Database, subjectId: string, action: Action): Promise<Act | undefined> {
  const row = await selectActs(db, {})
    .where('acts.subject_id', '=', subjectId)
    .where('acts.action', '=', action)
    .orderBy('acts.id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && fromRow(row);
}

/** What an action is called; its bare name, if a later version of this program wrote it. */
export function actionName(action: string): string {
  return Object.hasOwn(ACTIONS, action) ? ACTIONS[action as Action] : action;
}

/** What else is known of an act, in a line. */
export function describeDetail(detail: Record<string, string>): string {
  const line = Object.entries(detail).map(describeOne).join('; ');
  return line.slice(0, 1).toUpperCase() + line.slice(1);
}

function describeOne([name, value]: [string, string]): string {
  if (name === 'with') return `with a ${value}`;
  if (name === 'how') return value;
  return `${name === 'scope' ? 'scopes' : name.replaceAll('_', ' ')}: ${value}`;
}

const SEARCHED = ['acts.actor_name', 'acts.actor_email', 'acts.subject_name', 'acts.address', 'acts.detail'];

function selectActs(db: Database, { businessId, search, group, actorId }: ActFilter) {
  let query = db
    .selectFrom('acts')
    .leftJoin('businesses', 'businesses.id', 'acts.business_id')
    .selectAll('acts')
    .select('businesses.name as business_name');
  if (businessId !== undefined) query = query.where('acts.business_id', '=', businessId);
  if (group !== undefined) query = query.where('acts.action', 'in', actionsOf(group));
  if (actorId !== undefined) query = query.where('acts.actor_id', '=', actorId);
  if (!search) return query;
  if (isId(search)) {
    return query.where(({ eb, or }) => or([eb('acts.subject_id', '=', search), eb('acts.actor_id', '=', search)]));
  }
  return query.where(contains(SEARCHED, search));
}

function actionsOf(group: Group): string[] {
  return Object.keys(ACTIONS).filter((action) => action.startsWith(`${group}.`));
}

type ActRow = Awaited<ReturnType<ReturnType<typeof selectActs>['executeTakeFirstOrThrow']>>;

function actorOf(row: ActRow): Actor {
  return {
    kind: row.actor_kind,
    id: row.actor_id,
    name: row.actor_name,
    email: row.actor_email,
    address: row.address,
  };
}

function fromRow(row: ActRow): Act {
  return {
    id: row.id,
    at: row.at,
    action: row.action,
    actor: actorOf(row),
    business: row.business_id === null ? null : { id: row.business_id, name: row.business_name ?? '' },
    subject: { kind: row.subject_kind, id: row.subject_id, name: row.subject_name },
    detail: JSON.parse(row.detail),
  };
}
