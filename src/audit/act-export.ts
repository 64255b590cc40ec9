import { csvLine } from '../lib/csv.ts';
import type { Database } from '../storage/storage.ts';
import { type Act, type ActFilter, actionName, describeDetail, listActs } from './act-log.ts';

/** One file holds no more; `before` goes on from its last act. */
export const MOST_EXPORTED = 100_000;
const BATCH = 500;

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

/** The acts as CSV, a batch at a time, so that a long log is never held whole. */
export async function* exportActs(db: Database, filter: ActFilter & { before?: string | undefined }) {
  let before = filter.before;
  let head = csvLine(COLUMNS.map(([name]) => name));
  for (let exported = 0; exported < MOST_EXPORTED; exported += BATCH) {
    const acts = await listActs(db, { ...filter, before, limit: BATCH });
    yield head + acts.map(toLine).join('');
    if (acts.length < BATCH) return;
    before = acts.at(-1)?.id;
    head = '';
  }
}

function toLine(act: Act): string {
  return csvLine(COLUMNS.map(([, value]) => value(act) ?? ''));
}
