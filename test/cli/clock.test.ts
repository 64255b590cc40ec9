import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { DAY } from '../../src/lib/clock.ts';
import { openStorage } from '../../src/storage/open.ts';
import { confirmReading } from '../../src/storage/plausible-clock.ts';
import { createCommandLine } from '../support/command-line.ts';
import { createFixtures } from '../support/fixtures.ts';
import { freePort } from '../support/ports.ts';

const MONTHS_AGO = Date.now() - 100 * DAY;

test('after a jump the doctor and the metrics name it, and old rows stay until the clock is confirmed [X7]', {
  timeout: 120_000,
}, async () => {
  const cli = createCommandLine();
  await cli.json(['migrate']);
  const storage = await openStorage(cli.databaseUrl);
  const { ada } = await createFixtures(() => storage, Date.now);
  const expired = { user_id: ada.id, browser: '', address: '', signed_in_at: MONTHS_AGO, last_seen_at: MONTHS_AGO };
  await storage.durable
    .insertInto('sessions')
    .values({ id_hash: 'x', ...expired, expires_at: MONTHS_AGO + DAY })
    .execute();
  await confirmReading(storage.durable, MONTHS_AGO);
  const countSessions = async () => (await storage.durable.selectFrom('sessions').selectAll().execute()).length;
  const metrics = `127.0.0.1:${await freePort()}`;
  const keys = { SECRET_KEYS: 'the-key-of-a-server-with-an-old-clock' };
  const server = await cli.serve({ ...keys, METRICS_LISTEN: metrics });
  const jump = async () => {
    const text = await (await fetch(`http://${metrics}/metrics`)).text();
    return Number(/^gatehouse_clock_jump_seconds (\S+)$/m.exec(text)?.[1]);
  };
  const examine = async () => {
    const { stdout } = await cli.run(['doctor', '--json'], {
      env: { ...keys, BASE_URL: server.api, CONSENT_URL: server.web },
    });
    return JSON.parse(stdout).findings.filter(({ about, level }: Finding) => about === 'clock' && level === 'warning');
  };

  while ((await jump()) === 0) await setTimeout(50);
  const [found, kept, ready] = [await examine(), await countSessions(), await fetch(`${server.api}/readyz`)];
  const { confirmed } = await cli.json(['clock', 'confirm']);
  while ((await countSessions()) > 0 || (await jump()) > 0) await setTimeout(50);
  const [foundAfterwards, { stdout: audit }] = [
    await examine(),
    await cli.run(['audit', 'export'], { asProcess: true }),
  ];
  await server.end('SIGTERM');
  await storage.close();

  assert.deepEqual([found.length, kept, ready.status, foundAfterwards.length], [1, 1, 200, 0]);
  assert.match(found[0].message, /^The clock is (99\.\d|100\.0) days ahead of its last reading/);
  assert.match(found[0].fix, /gatehouse clock confirm/);
  assert.ok(Math.abs(Date.parse(confirmed) - Date.now()) < DAY);
  assert.match(audit, /database\.clock_confirmed/);
});

interface Finding {
  about: string;
  level: string;
}
