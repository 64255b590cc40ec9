import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createBrowser } from '../support/browser.ts';
import { databaseUrl, TEMPLATE } from '../support/databases.ts';
import { type Node, startNodes } from '../support/nodes.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { hasOneWinner } from '../support/unavailable.ts';
import { createApiClient } from './support/api-client.ts';
import { fetchCsrf, type Person, signIn } from './support/businesses.ts';
import { ENDINGS, type Ending, type Parties } from './support/endings.ts';
import { ROUNDS } from './support/progress.ts';
import { allow, connect, count, type Request, race, raceAgainst, statuses, unavailable } from './support/races.ts';
import { runRounds } from './support/rounds.ts';

const REQUESTS = 50;
/** One app sends all requests, more than the limit allows. */
const UNLIMITED = '1000000000';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-faults-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const postgres = await startPostgres();
after(() => postgres.remove());
await createTemplate(postgres.url);

const DATABASES = [
  { where: 'on SQLite', nodeCount: 1, url: `sqlite:${join(folder, 'gatehouse.db')}` },
  { where: 'on three nodes with PostgreSQL', nodeCount: 3, url: databaseUrl(postgres.url, TEMPLATE) },
];

const setups = await Promise.all(
  DATABASES.map(async ({ where, nodeCount, url }) => {
    const { nodes, storage, ...fixtures } = await startNodes(nodeCount, url, { LIMIT_PER_APP: UNLIMITED });
    const apis = nodes.map(({ api }) => api);
    let index = 0;
    const apiClient = createApiClient(() => apis[index++ % apis.length] ?? '');
    const [{ api, web }] = nodes as [Node];
    const signInAs = async (user: Person['user']) => {
      const person = await signIn(storage, user, createBrowser(web, [api, web]));
      await fetchCsrf(person);
      return person;
    };
    return {
      where,
      nodes,
      storage,
      apiClient,
      apiClients: apis.map((address) => createApiClient(() => address)),
      signInAs,
      ...fixtures,
    };
  }),
);

for (const { where, nodes, storage, apiClient, apiClients, signInAs, addApp, addBusiness, addUser, ada } of setups) {
  /** A first-party app, which needs no consent. */
  const racer = await addApp({ name: 'Racer' });
  const owner = await signInAs(ada);
  const sendMany = (request: Request) => race(Array.from({ length: REQUESTS }, () => request));
  const useOnEveryNode = (token: string) => race(apiClients.map(({ use }) => use.bind(undefined, token)));

  test(`of ${REQUESTS} exchanges of one code ${where} exactly one wins, ${ROUNDS} times [T12]`, async () => {
    await runRounds(`Exchanges ${where}`, ROUNDS, async () => async (round) => {
      const code = await allow({ apiClient, app: racer }, owner);

      const responses = await sendMany(() => apiClient.exchange(racer, code));

      assert.ok(hasOneWinner(responses), `round ${round}: ${statuses(responses)}`);
      const others = REQUESTS - count(responses, 200);
      assert.equal(count(responses, 400), others, `round ${round}: ${statuses(responses)}`);
    });
  });

  test(`${REQUESTS} refreshes of one token ${where} give one and the same pair, ${ROUNDS} times [T15]`, async () => {
    await runRounds(`Refreshes ${where}`, ROUNDS, async () => {
      let { refresh_token } = await connect({ apiClient, app: racer }, owner);
      return async (round) => {
        const spent = refresh_token;

        const responses = await sendMany(() => apiClient.refresh(racer, spent));

        assert.equal(count(responses, 200), REQUESTS, `round ${round}: ${statuses(responses)}`);
        assert.equal(new Set(responses.map(({ body }) => `${body.access_token} ${body.refresh_token}`)).size, 1);
        refresh_token = responses[0]?.body.refresh_token;
        assert.notEqual(refresh_token, spent);
      };
    });
  });

  test(`a token that was revoked ${where} is rejected by every node at the very next call, ${5 * ROUNDS} times`, async () => {
    await runRounds(`Revocations ${where}`, 5 * ROUNDS, async () => {
      let tokens = await connect({ apiClient, app: racer }, owner);
      return async (round) => {
        tokens = (await race([() => apiClient.refresh(racer, tokens.refresh_token)]))[0]?.body;

        const [revoked] = await race([() => apiClient.revoke(tokens.access_token)]);
        const responses = await useOnEveryNode(tokens.access_token);

        assert.equal(revoked?.status, 200);
        assert.equal(count(responses, 401), apiClients.length, `round ${round}: ${statuses(responses)}`);
      };
    });
  });

  /** Each lane has its own business, so that lanes do not affect each other. */
  async function createParties(lane: number): Promise<Parties> {
    const business = await addBusiness(`Business ${lane}`);
    return {
      storage,
      apiClient,
      app: await addApp({ name: `App ${lane}`, ownerBusinessId: business.id }),
      businessId: business.id,
      member: await signInAs(await addUser(`Grace${lane}`, [[business, 'member']])),
      owner: await signInAs(await addUser(`Owner${lane}`, [[business, 'owner']])),
      admin: await signInAs(await addUser(`Root${lane}`, [], true)),
    };
  }

  test(`a grant that ends ${where} in any of ${ENDINGS.length} ways, during refreshes and exchanges, stays ended, ${ROUNDS} times`, async (context) => {
    await runRounds(`Endings ${where}`, ROUNDS, async (lane) => {
      const parties = await createParties(lane);
      return async (round) => {
        const ending = ENDINGS[round % ENDINGS.length] as Ending;

        const broken = await raceAgainst(parties, ending, REQUESTS);

        assert.deepEqual(broken, [], `round ${round}: ${ending.what}`);
      };
    });
    context.diagnostic(`in all races so far, ${unavailable.count} got a 503 and were repeated`);
  });

  test(`a user who signs out ${where} is signed out on every node`, async () => {
    const other = nodes.at(-1) as Node;
    const visitor = await signInAs(ada);
    const before = await openOn(other, visitor, '/settings/account');
    await visitor.browser.submit(await visitor.browser.open('/settings/account'), '/sign-out');

    assert.deepEqual([before, await openOn(other, visitor, '/settings/account')], [200, 303]);
  });
}

/** Opens a page on another node than the one that the browser signed in to. */
async function openOn({ web }: Node, { browser: { cookies } }: Person, path: string): Promise<number> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return (await fetch(web + path, { headers: { cookie }, redirect: 'manual' })).status;
}
