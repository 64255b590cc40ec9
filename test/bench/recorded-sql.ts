import { DatabaseSync, StatementSync } from 'node:sqlite';

/** What background jobs ask, which run by their own clock and belong to no request: delivering, noting, cleaning up, warning. */
const BACKGROUND = [
  // Recording an event belongs to a request, though it asks whether there is an endpoint.
  /^(?!insert into "events")[^;]*"(?:endpoints|deliveries|attempts|logged_requests|request_counts|scope_uses|rate_limits)"/,
  /^(?:select|update|delete)[^;]* "events"/,
  /^delete from [^;]* limit \?\)/,
  /"warned_at"/,
];

/** How durable the next write is; and what all who read or write in one turn of the event loop share, whoever they are. */
const SHARED = /^\s*(?:pragma|begin|commit|rollback$)/i;

/** The SQL that anything in this process executes on SQLite while something is done, in order. */
export async function recordSql(work: () => Promise<unknown>): Promise<string[]> {
  const said: string[] = [];
  const stopListening = listen(said);
  try {
    await work();
  } finally {
    stopListening();
  }
  return withoutBackground(said.filter((text) => !SHARED.test(text)));
}

const METHODS = ['all', 'get', 'run', 'iterate'] as const;

function listen(said: string[]): () => void {
  const before = METHODS.map((name) => StatementSync.prototype[name]);
  const exec = DatabaseSync.prototype.exec;
  for (const [place, name] of METHODS.entries()) {
    const original = before[place] as (...values: unknown[]) => unknown;
    Object.assign(StatementSync.prototype, {
      [name](this: StatementSync, ...values: unknown[]) {
        said.push(this.sourceSQL);
        return original.apply(this, values);
      },
    });
  }
  DatabaseSync.prototype.exec = function (this: DatabaseSync, text: string) {
    said.push(text);
    return exec.call(this, text);
  };
  return () => {
    for (const [place, name] of METHODS.entries()) Object.assign(StatementSync.prototype, { [name]: before[place] });
    DatabaseSync.prototype.exec = exec;
  };
}

/** Whatever a background job did, and the transactions in which nothing else was done. */
function withoutBackground(said: string[]): string[] {
  const ours = said.filter((text) => !BACKGROUND.some((pattern) => pattern.test(text)));
  const isEmpty = (place: number) => /^savepoint/i.test(ours[place] ?? '') && /^release/i.test(ours[place + 1] ?? '');
  return ours.filter((_, place) => !isEmpty(place) && !isEmpty(place - 1));
}
