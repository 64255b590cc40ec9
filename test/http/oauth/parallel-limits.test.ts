import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PASSWORD } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const AT_ONCE = 200;
const LIMIT = 7;

interface LimitedResponse {
  status: number;
  headers: Headers;
}

/** Asserts that exactly this many succeed, and that all others are 429 with Retry-After. */
async function assertExact(send: (index: number) => Promise<LimitedResponse>, within: number): Promise<void> {
  const responses = await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => send(index)));
  const rejected = responses.filter(({ status }) => status === 429);

  assert.equal(responses.filter(({ status }) => status === within).length, LIMIT);
  assert.equal(rejected.length, AT_ONCE - LIMIT);
  for (const { headers } of rejected) assert.match(headers.get('retry-after') ?? '', /^[1-9]\d{0,2}$/);
}

test('of 200 requests of an app at once exactly as many as its limit succeed, across all endpoints', async () => {
  const server = await startTestServer({ LIMIT_PER_APP: String(LIMIT + 1) });
  await server.connect();

  await assertExact((index) => (index % 2 ? server.introspect('x') : server.revoke('x', server.credentials)), 200);
});

test('of 200 wrong secrets at once exactly as many as the limit are checked [T6]', async () => {
  const server = await startTestServer({ LIMIT_WRONG_SECRETS: String(LIMIT) });

  await assertExact(() => server.introspect('x', { client_secret: 'gcs_wrong' }), 401);
});

test('of 200 calls under a grant at once exactly as many as its limit succeed', async () => {
  const server = await startTestServer({ LIMIT_PER_GRANT: String(LIMIT) });
  const { access_token } = await server.connect();

  await assertExact(() => server.listInvoices(access_token), 200);
});

test('of 200 attempts at once from one address, by password or passkey, exactly as many as its limit are checked [S9]', async () => {
  const server = await startTestServer({ LIMIT_SIGN_IN_PER_ADDRESS: String(LIMIT) });
  const browser = server.browse();
  const csrf = await browser.csrf();
  const byPassword = (email: string) => browser.post('/sign-in', { csrf, email, password: PASSWORD });
  const byPasskey = () => browser.post('/sign-in/passkey', { csrf, credential: '{}' });

  await assertExact((index) => (index % 2 ? byPassword(`${index}@example.com`) : byPasskey()), 401);
});

test('all addresses of one IPv6 network share one limit, and the next network has its own [S9][S12]', async () => {
  const server = await startTestServer({
    LIMIT_SIGN_IN_PER_ADDRESS: '2',
    LIMIT_WRONG_SECRETS: '2',
    TRUST_PROXY: '127.0.0.1,::1',
  });
  const browser = server.browse();
  const page = await browser.open('/sign-in');
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const guess = async (address: string) => {
    const typed = { email: `${address}@example.com`, password: 'wrong password' };
    const signedIn = await browser.submit(page, '/sign-in', typed, from(address));
    const wrong = { token: 'x', client_id: server.ledger.id, client_secret: 'gcs_wrong' };
    return [signedIn.status, (await server.post('introspect', wrong, from(address))).status];
  };

  const inOne = [await guess('2001:db8:1:2::1'), await guess('2001:db8:1:2::2'), await guess('2001:db8:1:2:ffff::3')];
  const inNext = await guess('2001:db8:1:3::1');

  assert.deepEqual(inOne, [
    [401, 401],
    [401, 401],
    [429, 429],
  ]);
  assert.deepEqual(inNext, [401, 401]);
});
