import { DatabaseSync, StatementSync } from 'node:sqlite';

/** Statements of background jobs, which belong to no request: webhooks, request log, token use, retention. */
const BACKGROUND = [
  // A request records an event with a statement that reads the endpoints.
  /^(?!insert into "events"|with "changed")[^;]*"(?:endpoints|deliveries|attempts|logged_requests|request_counts|scope_uses|rate_limits)"/,
  /^(?:select|update|delete)[^;]* "events"/,
  /^delete from [^;]* limit \?\)/,
  /^select [^;]* order by "(?:expires_at|requested_at|removable_at)" limit \?$/,
  /"warned_at"/,
  /^update "grants" set "used_rotation"/,
  /"clock"/,
  /^select "id" from "(?:happenings|follow_ups)"/,
];

/** Statements that all reads or writes of an event loop iteration share. */
const SHARED = /^\s*(?:pragma|begin|commit|rollback$)/i;

/** The SQL that this process executes on SQLite while `work` runs, in order. */
export async function recordSql(work: () => Promise<unknown>): Promise<string[]> {
  const texts: string[] = [];
  const stopListening = listen(texts);
  try {
    await work();
  } finally {
    stopListening();
  }
  return withoutBackground(texts.filter((text) => !SHARED.test(text)));
}

const METHODS = ['all', 'get', 'run', 'iterate'] as const;

function listen(texts: string[]): () => void {
  const before = METHODS.map((name) => StatementSync.prototype[name]);
  const exec = DatabaseSync.prototype.exec;
  for (const [index, name] of METHODS.entries()) {
    const original = before[index] as (...values: unknown[]) => unknown;
    Object.assign(StatementSync.prototype, {
      [name](this: StatementSync, ...values: unknown[]) {
        texts.push(this.sourceSQL);
        return original.apply(this, values);
      },
    });
  }
  DatabaseSync.prototype.exec = function (this: DatabaseSync, text: string) {
    texts.push(text);
    return exec.call(this, text);
  };
  return () => {
    for (const [index, name] of METHODS.entries()) Object.assign(StatementSync.prototype, { [name]: before[index] });
    DatabaseSync.prototype.exec = exec;
  };
}

/** Removes the statements of background jobs, and transactions that are then empty. */
function withoutBackground(texts: string[]): string[] {
  const ours = texts.filter((text) => !BACKGROUND.some((pattern) => pattern.test(text)));
  const isEmpty = (index: number) => /^savepoint/i.test(ours[index] ?? '') && /^release/i.test(ours[index + 1] ?? '');
  return ours.filter((_, index) => !isEmpty(index) && !isEmpty(index - 1));
}
