import { setImmediate } from 'node:timers/promises';
import { semaphore } from '../lib/semaphore.ts';
import type { Database } from '../storage/storage.ts';
import { type Act, type ActFilter, type ActQuery, actFrom, isNarrowed, matching, selectActs } from './act-filter.ts';
import { listActs } from './act-log.ts';

/** A search reads the rows of its time range in steps of this many: on SQLite nothing else runs during one step. */
const STEP = 500;
/** The rows that one page reads at most. Its reader decides whether to search further back. */
const READ_PER_PAGE = 10_000;
const STEPS_WAITING = 1_000;

/** One step at a time in each process, however many people search. */
const steps = semaphore({ concurrency: 1, maxQueue: STEPS_WAITING });

export interface FoundActs {
  acts: Act[];
  /** Set if there may be more in the range: the id from which a further search continues. */
  searchedTo?: string;
}

/** The newest matching acts first. Ends early once it has read as many rows as one page may. */
export async function searchActs(
  db: Database,
  { before, limit, ...filter }: ActFilter & { before?: string | undefined; limit: number },
): Promise<FoundActs> {
  if (!isNarrowed(filter)) return { acts: await listActs(db, { ...filter, before, limit }) };
  const acts: Act[] = [];
  let read = 0;
  for await (const step of stepThrough(db, filter, before)) {
    acts.push(...step.acts);
    read += STEP;
    if (acts.length >= limit) return { acts: acts.slice(0, limit) };
    if (step.last !== undefined && read >= READ_PER_PAGE) return { acts, searchedTo: step.last };
  }
  return { acts };
}

interface Step {
  acts: Act[];
  /** The id of the oldest row that was read; undefined at the end of the range. */
  last: string | undefined;
}

/** All matching acts of the range, as many rows at a time as one step reads. */
export async function* stepThrough(db: Database, filter: ActFilter, start: string | undefined): AsyncGenerator<Step> {
  for (let before = start; ; await setImmediate()) {
    const step = await steps(() => readStep(db, filter, before));
    yield step;
    if (step.last === undefined) return;
    before = step.last;
  }
}

async function readStep(db: Database, filter: ActFilter, before: string | undefined): Promise<Step> {
  const last = await backFrom(selectActs(db, filter), before)
    .clearSelect()
    .select('audit_entries.id')
    .offset(STEP - 1)
    .limit(1)
    .executeTakeFirst();
  const rows = await matching(backFrom(selectStep(db, filter, last?.id), before), filter).execute();
  return { acts: rows.map((row) => actFrom(row, filter.tenant)), last: last?.id };
}

/** With one lower bound on the id: of two, SQLite searches its index by the first, and that would read the whole range. */
function selectStep(db: Database, filter: ActFilter, last: string | undefined): ActQuery {
  if (last === undefined) return selectActs(db, filter);
  return selectActs(db, { ...filter, since: undefined }).where('audit_entries.id', '>=', last);
}

function backFrom(query: ActQuery, before: string | undefined): ActQuery {
  const newestFirst = query.orderBy('audit_entries.id', 'desc');
  return before === undefined ? newestFirst : newestFirst.where('audit_entries.id', '<', before);
}
