import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createBusinesses } from './support/businesses.ts';
import { examineSqlite } from './support/integrity.ts';
import { ENV, killUnderLoad } from './support/kills.ts';
import { concurrency, READY_WITHIN, shareOfKills, timeFor } from './support/progress.ts';
import { createServeProcess, newAddresses, type ServeProcess } from './support/serve-process.ts';

const LANES = [
  { what: 'the one node', args: [], kills: shareOfKills(24) },
  { what: 'the one node of another database', args: [], kills: shareOfKills(24) },
  { what: 'three workers and who started them', args: ['--workers', '3'], kills: shareOfKills(4) },
];
const FIRMS = 4;

// The lanes run concurrently, since they mostly wait for processes to start.
suite('kill -9 on SQLite', concurrency(2), () => {
  for (const { what, args, kills } of LANES) {
    test(`${kills} kills of ${what}, under load, lose no acknowledged write and revive nothing [T19]`, {
      timeout: timeFor(kills),
    }, async (context) => {
      const folder = mkdtempSync(join(tmpdir(), 'gatehouse-faults-'));
      after(() => rmSync(folder, { recursive: true, force: true }));
      const url = `sqlite:${join(folder, 'gatehouse.db')}`;
      const addresses = await newAddresses();
      const businesses = await createBusinesses(url, FIRMS, addresses);
      const serving = createServeProcess(addresses, url, { args, env: ENV });
      await serving.start();

      const { median } = await killUnderLoad(context, {
        what: `Kills of ${what} on SQLite`,
        kills,
        url,
        businesses,
        apis: [serving.api],
        async kill() {
          await serving.kill();
          const times = 1 + (randomInt(10) === 0 ? await killWhileStarting(serving) : 0);
          return { times, readyAfter: await serving.start() };
        },
        examine: () => examineSqlite(url),
      });

      assert.ok(median < READY_WITHIN, `ready after ${median} ms`);
    });
  }
});

/** Kills the server while it opens the file and recovers the WAL. */
async function killWhileStarting(serving: ServeProcess): Promise<number> {
  serving.launch();
  await setTimeout(randomInt(50, 800));
  await serving.kill();
  return 1;
}
