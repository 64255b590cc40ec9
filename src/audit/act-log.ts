import type { Database } from '../storage/storage.ts';
import { type Act, type ActFilter, actFrom, matching, selectActs } from './act-filter.ts';
import { ACTIONS, type Action } from './acts.ts';

export type { Act, ActFilter, Tenant } from './act-filter.ts';

/** The newest acts first; `before` is the id of the last act of the previous page. Only for filters that an index answers. */
export async function listActs(
  db: Database,
  { before, limit, ...filter }: ActFilter & { before?: string | undefined; limit: number },
): Promise<Act[]> {
  let query = matching(selectActs(db, filter), filter);
  if (before !== undefined) query = query.where('audit_entries.id', '<', before);
  const rows = await query.orderBy('audit_entries.id', 'desc').limit(limit).execute();
  return rows.map((row) => actFrom(row, filter.tenant));
}

/** The acts of these kinds on one subject, the newest first. */
export async function listActsOn(
  db: Database,
  { subjectId, actions, since, limit }: { subjectId: string; actions: Action[]; since?: number; limit: number },
): Promise<Act[]> {
  const rows = await selectActs(db, { since })
    .where('audit_entries.subject_id', '=', subjectId)
    .where('audit_entries.action', 'in', actions)
    .orderBy('audit_entries.id', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => actFrom(row, undefined));
}

/** What was last done to something in this way. */
export async function findLastAct(db: Database, subjectId: string, action: Action): Promise<Act | undefined> {
  const [last] = await listActsOn(db, { subjectId, actions: [action], limit: 1 });
  return last;
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
