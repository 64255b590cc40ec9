import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { after, test } from 'node:test';
import { countRepeat } from '../../src/audit/repeats.ts';
import { newId } from '../../src/lib/ids.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createTableCounter } from '../../src/storage/rate-limits.ts';
import { watchStatements } from '../../src/storage/statement-log.ts';
import { releaseEndpoint, schedule } from '../../src/webhooks/queue.ts';

/** The statements of one test; servers of other files run in the same process. */
const statements = new AsyncLocalStorage<Set<string>>();
after(watchStatements(({ sql }) => statements.getStore()?.add(sql)));
const storage = await openStorage('sqlite::memory:');
after(() => storage.close());
await migrate(storage);

const db = storage.durable;
const id = newId(0);
const counter = createTableCounter(db, { name: 'some', points: 100, seconds: 60 });

/** Kysely writes some numbers into the text of a statement. Each value would then be another statement to compile. */
const WORK: Record<string, (value: number) => Promise<unknown>> = {
  'counting a rate limit': (value) => counter.consume('a', value),
  'counting a repeat': (value) => countRepeat(db, { key: 'a', window: 10 + value }, value),
  'scheduling an endpoint': (value) => schedule(db, id, value),
  'releasing an endpoint': (value) =>
    releaseEndpoint(db, { id, lease: value } as never, { dueAt: value, backoffUntil: value }),
};

for (const [what, work] of Object.entries(WORK)) {
  test(`${what} is one statement for all values`, async () => {
    const texts = new Set<string>();

    await statements.run(texts, async () => {
      for (const value of [1, 2, 3]) await work(value);
    });

    assert.equal(texts.size, 1, [...texts].join('\n'));
  });
}
