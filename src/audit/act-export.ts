import { csvLine } from '../lib/csv.ts';
import type { Database } from '../storage/storage.ts';
import { type Act, type ActFilter, actionName, describeDetail } from './act-log.ts';
import { stepThrough } from './act-search.ts';

/** One file holds no more; `before` goes on from its last act. */
export const MOST_EXPORTED = 100_000;

const COLUMNS: [name: string, value: (act: Act) => string | null | undefined][] = [
  ['id', ({ id }) => id],
  ['time', ({ at }) => new Date(at).toISOString()],
  ['action', ({ action }) => action],
  ['what', ({ action }) => actionName(action)],
  ['actor_kind', ({ actor }) => actor.kind],
  ['actor_id', ({ actor }) => actor.id],
  ['actor', ({ actor }) => actor.name],
  ['actor_email', ({ actor }) => actor.email],
  ['address', ({ actor }) => actor.address],
  ['subject_kind', ({ subject }) => subject.kind],
  ['subject_id', ({ subject }) => subject.id],
  ['subject', ({ subject }) => subject.name],
  ['business_id', ({ business }) => business?.id],
  ['business', ({ business }) => business?.name],
  ['detail', ({ detail }) => describeDetail(detail)],
];

/** The acts as CSV, a step at a time, so that a long log is never in memory as a whole. */
export async function* exportActs(db: Database, { before, ...filter }: ActFilter & { before?: string | undefined }) {
  let head = csvLine(COLUMNS.map(([name]) => name));
  let exported = 0;
  for await (const { acts } of stepThrough(db, filter, before)) {
    const fitting = acts.slice(0, MOST_EXPORTED - exported);
    yield head + fitting.map(toLine).join('');
    exported += fitting.length;
    if (exported === MOST_EXPORTED) return;
    head = '';
  }
}

function toLine(act: Act): string {
  return csvLine(COLUMNS.map(([, value]) => value(act) ?? ''));
}
