import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, Client, Tokens } from '../support/client.ts';
import { databaseUrl, TEMPLATE } from '../support/engines.ts';
import { type Node, startNodes } from '../support/nodes.ts';
import { makeTemplate, startPostgres } from '../support/postgres-server.ts';

/** `TEST_ROUNDS=200` is the long form. */
const ROUNDS = Number(process.env.TEST_ROUNDS ?? 15);
const WAYS = 50;

const postgres = await startPostgres();
await makeTemplate(postgres.url);
after(() => postgres.remove());
const { nodes, clients, addApp, ada } = await startNodes(3, databaseUrl(postgres.url, TEMPLATE));
const [first, second, third] = clients as [Client, Client, Client];
/** A first-party app, which needs no one to click Allow two hundred times. */
const app = await addApp({ name: 'Racer' });
const credentials = { client_id: app.id, client_secret: app.secret };
const browser = await first.signedIn(ada);

const newCode = () => first.allow({ client_id: app.id }, browser);
const connect = async (): Promise<Tokens> => (await first.exchange(await newCode(), credentials)).body;

/** The same request, fifty times at once, spread over the nodes. */
function race(ask: (client: Client) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: WAYS }, (_, i) => ask(clients[i % clients.length] ?? first)));
}

const statuses = (answers: Answer[]) => answers.map(({ status }) => status);

test(`of ${WAYS} exchanges of one code on three nodes exactly one wins, ${ROUNDS} times [T12]`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const code = await newCode();

    const answers = await race((client) => client.exchange(code, credentials));

    assert.equal(
      statuses(answers).filter((status) => status === 200).length,
      1,
      `round ${round}: ${statuses(answers)}`,
    );
    assert.equal(statuses(answers).filter((status) => status === 400).length, WAYS - 1);
  }
});

test(`${WAYS} refreshes of one token on three nodes give one and the same pair, ${ROUNDS} times [T15]`, async () => {
  let { refresh_token } = await connect();
  for (let round = 0; round < ROUNDS; round++) {
    const spent = refresh_token;

    const answers = await race((client) => client.refresh(spent, credentials));

    assert.deepEqual([...new Set(statuses(answers))], [200], `round ${round}`);
    assert.equal(new Set(answers.map(({ body }) => body.refresh_token)).size, 1);
    assert.equal(new Set(answers.map(({ body }) => body.access_token)).size, 1);
    refresh_token = answers[0]?.body.refresh_token;
    assert.notEqual(refresh_token, spent);
  }
});

test(`a token revoked through one node is refused by the others at the very next call, ${5 * ROUNDS} times`, async () => {
  let tokens = await connect();
  for (let round = 0; round < 5 * ROUNDS; round++) {
    tokens = (await first.refresh(tokens.refresh_token, credentials)).body;

    const { access_token } = tokens;
    const revoked = await first.revoke(access_token);
    const answers = await Promise.all([second, third].map((client) => client.listInvoices(access_token)));

    assert.deepEqual([revoked.status, ...statuses(answers)], [200, 401, 401], `round ${round}`);
  }
});

/** The session of a browser, asked of another node than the one it signed in to. */
async function openOn(node: Node, cookies: Map<string, string>, path: string): Promise<number> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return (await fetch(node.web + path, { headers: { cookie }, redirect: 'manual' })).status;
}

test('what one node answered is true on every other: sessions, consent, disconnecting', async () => {
  const [, nodeB] = nodes as [Node, Node];
  const visitor = await first.signedIn(ada);
  const before = await openOn(nodeB, visitor.cookies, '/settings/account');
  const { access_token, refresh_token } = (await second.exchange(await first.allow({}, visitor))).body;
  const listed = await third.listInvoices(access_token);
  const page = await visitor.open('/settings/connected-apps');
  await visitor.submit(page, '/settings/connected-apps/disconnect');
  const refused = await third.refresh(refresh_token);
  const account = await visitor.open('/settings/account');
  await visitor.submit(account, '/sign-out');
  const after = await openOn(nodeB, visitor.cookies, '/settings/account');

  assert.equal(before, 200);
  assert.equal(listed.status, 200);
  assert.match(refused.body.error_description, /disconnected_by_user/);
  assert.equal(after, 303);
});
