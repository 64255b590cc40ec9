import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { newBrowser } from '../support/browser.ts';
import { newClient } from '../support/client.ts';
import { newCommandLine } from '../support/command-line.ts';
import { PASSWORD, REDIRECT_URI } from '../support/people.ts';
import { freePort } from '../support/ports.ts';

const ROUNDS = 2;
const LOOPS = 4;

/** What one loop was told, in the order in which it was told. Whatever is in here must hold after the kill. */
interface Journal {
  allowed: string[];
  /** Codes whose exchange was answered. */
  exchanged: string[];
  /** The newest pair of each grant that lives. */
  current: { access_token: string; refresh_token: string }[];
  revokedRefreshTokens: string[];
  revokedAccessTokens: string[];
}

type Client = ReturnType<typeof newClient>;
type Browser = ReturnType<typeof newBrowser>;

const cli = newCommandLine();
const business = await cli.json(['business', 'add', '--name', 'Acme']);
const user = await cli.json(
  ['user', 'add', '--email', 'ada@example.com', '--name', 'Ada', '--business', business.id, '--password', PASSWORD],
  {},
);
const registered = await cli.json(
  ['app', 'add', '--name', 'Ledger', '--business', business.id, '--redirect-uri', REDIRECT_URI].concat([
    '--scope',
    'read:invoices',
  ]),
);
const env = {
  BASE_URL: `http://127.0.0.1:${await freePort()}`,
  CONSENT_URL: `http://localhost:${await freePort()}`,
  SECRET_KEYS: 'the-key-that-the-tests-sign-their-tokens-with',
};

function connectTo({ api, web }: { api: string; web: string }): { client: Client; browse: () => Browser } {
  const app = { ...registered, id: registered.client_id, secret: registered.client_secret };
  const browse = () => newBrowser(web, [api, web]);
  return { client: newClient({ api, browse, user, app, business }), browse };
}

/** Allow, exchange, and then by turns refresh, revoke the grant or revoke one access token; until the server is gone. */
async function work(client: Client, browser: Browser, journal: Journal, isOver: () => boolean): Promise<void> {
  for (let turn = 0; !isOver(); turn++) {
    const code = await client.allow({}, browser);
    journal.allowed.push(code);
    if (turn % 4 === 3) continue;
    const exchanged = await client.exchange(code);
    assert.equal(exchanged.status, 200);
    journal.exchanged.push(code);
    if (turn % 4 === 1) {
      assert.equal((await client.revoke(exchanged.body.refresh_token)).status, 200);
      journal.revokedRefreshTokens.push(exchanged.body.refresh_token);
      continue;
    }
    if (turn % 4 === 2) {
      assert.equal((await client.revoke(exchanged.body.access_token)).status, 200);
      journal.revokedAccessTokens.push(exchanged.body.access_token);
    }
    journal.current.push(exchanged.body);
    const mine = journal.current.length - 1;
    const refreshed = await client.refresh(exchanged.body.refresh_token);
    assert.equal(refreshed.status, 200);
    journal.current[mine] = refreshed.body;
  }
}

/** A call that the kill cut off has told nobody anything; any other failure is one. */
async function untilKilled(loop: Promise<void>, isOver: () => boolean): Promise<void> {
  try {
    await loop;
  } catch (error) {
    if (!isOver() || error instanceof assert.AssertionError) throw error;
  }
}

async function assertKept(client: Client, journal: Journal): Promise<void> {
  const exchanged = new Set(journal.exchanged);
  for (const { access_token, refresh_token } of journal.current) {
    const works = await client.listInvoices(access_token);
    const refreshed = await client.refresh(refresh_token);
    const expected = journal.revokedAccessTokens.includes(access_token) ? 401 : 200;
    assert.equal(works.status, expected, JSON.stringify(works.body));
    assert.equal(refreshed.status, 200, JSON.stringify(refreshed.body));
  }
  for (const token of journal.revokedAccessTokens) assert.equal((await client.listInvoices(token)).status, 401);
  for (const token of journal.revokedRefreshTokens) {
    assert.match((await client.refresh(token)).body.error_description ?? '', /revoked_by_app/);
  }
  const [last] = journal.allowed.slice(-1);
  for (const code of journal.allowed) {
    const { status } = await client.exchange(code);
    if (exchanged.has(code)) assert.equal(status, 400, 'a code that was exchanged stays used');
    // The exchange of the last code may have been under way, and done without an answer.
    else if (code !== last) assert.equal(status, 200, 'a code that was handed out can be exchanged');
  }
}

for (let round = 1; round <= ROUNDS; round++) {
  test(`kill -9 under load undoes nothing that was answered, round ${round} of ${ROUNDS} [T19]`, async () => {
    const server = await cli.serve(env);
    const { client, browse } = connectTo(server);
    const journals: Journal[] = [];
    let over = false;
    const loops = await Promise.all(
      Array.from({ length: LOOPS }, async () => {
        const journal = { allowed: [], exchanged: [], current: [], revokedRefreshTokens: [], revokedAccessTokens: [] };
        journals.push(journal);
        const browser = browse();
        await browser.signIn(user.email, PASSWORD);
        return { browser, journal };
      }),
    );

    const running = loops.map(({ browser, journal }) =>
      untilKilled(
        work(client, browser, journal, () => over),
        () => over,
      ),
    );
    while (journals.some(({ exchanged }) => exchanged.length === 0)) await wait(10);
    await wait(Math.random() * 500);
    over = true;
    await server.end('SIGKILL');
    await Promise.all(running);

    const restarted = await cli.serve(env);
    for (const journal of journals) await assertKept(connectTo(restarted).client, journal);
    assert.equal(await restarted.end('SIGTERM'), 0);
  });
}
