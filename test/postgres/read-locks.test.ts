import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import pg from 'pg';
import { createPasswordLink } from '../../src/accounts/password-links.ts';
import { userActor } from '../../src/accounts/users.ts';
import { createValues } from '../http/tenancy/route-values.ts';
import { csrfOf, listCases, send } from '../http/tenancy/visits.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { startTestServer } from '../support/test-server.ts';

const postgres = await startPostgres();
await createTemplate(postgres.url);
process.env.TEST_DATABASE_URL = postgres.url;
const server = await startTestServer();
const { ada, acme } = server;
after(() => postgres.remove());

/** As if other requests were changing all of them. */
async function whileRowsAreLocked<Result>(work: () => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: server.database.url });
  await client.connect();
  const { rows } = await client.query("select tablename from pg_tables where schemaname = 'public'");
  await client.query('begin');
  for (const { tablename } of rows) await client.query(`select 1 from "${tablename}" for update`);
  try {
    return await work();
  } finally {
    await client.end();
  }
}

const VISITORS = [
  ['owner', ada],
  ['platform', await server.addUser('Root', [], true)],
] as const;

for (const [visitor, user] of VISITORS) {
  test(`no page of the ${visitor} waits for rows that other requests are changing`, async () => {
    const values = await createValues(server, { business: acme, owner: ada, user, word: 'Acme' });
    const person = { visitor, user, enter: () => server.signedIn(user) };
    const browser = await person.enter();
    const from = { browser, csrf: await csrfOf(browser) };
    const isPage = ({ method, whose }: { method: string; whose: string }) => method === 'GET' && whose === 'own';
    const pages = (await listCases(server, person, values)).filter(isPage);
    assert.ok(pages.length > 30);

    const statuses = await whileRowsAreLocked(async () => {
      const seen: [path: string, status: number][] = [];
      for (const page of pages) seen.push([page.path, (await send(server, from, page)).status]);
      return seen;
    });

    assert.deepEqual(
      statuses,
      pages.map(({ path, expected }) => [path, expected]),
    );
  });
}

test('the pages to leave a business and to set a password by a link of an owner do not wait either', async () => {
  const bob = await server.addUser('Bob', [[acme, 'member']]);
  const browser = await server.signedIn(bob);
  const parties = { userId: bob.id, businessId: acme.id };
  const link = await createPasswordLink(userActor(ada, '127.0.0.1'), server.storage().durable, parties, server.clock());

  const [leaving, password] = await whileRowsAreLocked(async () => [
    await browser.open(server.acmePath(`members/${bob.id}/remove`)),
    await server.browse().open(`/password/${link?.token}`),
  ]);

  assert.deepEqual([leaving?.status, password?.status], [200, 200]);
});
