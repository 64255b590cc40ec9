import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fetchOnce, redirectParams, sendRaw } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/test-server.ts';
import { anyText } from '../../support/texts.ts';

const server = await startTestServer();

/** Encoded, as in the request. */
const STATES = [
  'plain',
  'a%20b',
  'a+b',
  'a%2Bb',
  'YWJj/+==',
  'x=y=z',
  '%26code%3Dstolen%23',
  '%E2%9C%93',
  '%e2%9c%93',
  '%C3%A9%00%7f',
  '%zz',
  '100%',
  '%FF%FE',
  '%0d%0aset-cookie:x=1',
  "(it's)~*!;:@,/?",
  '{"a":[1]}'.replaceAll('"', '%22'),
  'x'.repeat(2000),
];

const withState = (state: string, changes: Record<string, string | undefined> = {}) =>
  `${server.authorizeUrl({ ...changes, state: undefined })}&state=${state}`;

/** The state in a redirect, still encoded. */
function echoed(location: string | null | undefined): string | undefined {
  return /[?&]state=([^&#]*)/.exec(location ?? '')?.[1];
}

for (const state of STATES) {
  test(`state comes back byte for byte with an error of the request: ${state.slice(0, 40)} [A14]`, async () => {
    const { pathname, search } = new URL(server.authorizeUrl({ response_type: 'token', state: undefined }));
    const { status, location } = await sendRaw(server.api, { path: `${pathname}${search}&state=${state}` });

    assert.equal(status, 303);
    assert.equal(echoed(location), state);
  });
}

test('state comes back byte for byte with login_required and consent_required [A14]', async () => {
  const signedIn = await server.signedIn();
  for (const state of STATES) {
    const url = withState(state, { prompt: 'none' });
    const sent = echoed(new URL(url).href);

    const signedOut = await server.browse().open(url);
    const notAsked = await signedIn.open(url);

    assert.equal(signedOut.leftTo?.searchParams.get('error'), 'login_required');
    assert.equal(notAsked.leftTo?.searchParams.get('error'), 'consent_required');
    assert.equal(echoed(signedOut.headers.get('location')), sent);
    assert.equal(echoed(notAsked.headers.get('location')), sent);
  }
});

test('state comes back byte for byte after Deny, after Allow and without a consent screen [A14]', async () => {
  for (const [i, state] of STATES.entries()) {
    const browser = await server.signedIn(await server.addUser(`State${i}`, [[server.acme, 'member']]));
    const url = withState(state);
    const sent = echoed(new URL(url).href);

    const page = await browser.open(url);
    const denied = await browser.submit(page, '/consent', { decision: 'deny' });
    const allowed = await browser.submit(page, '/consent', { decision: 'allow' });
    const silent = await browser.open(url);

    assert.equal(denied.leftTo?.searchParams.get('error'), 'access_denied');
    for (const response of [allowed, silent]) assert.ok(response.leftTo?.searchParams.get('code'));
    for (const response of [denied, allowed, silent]) assert.equal(echoed(response.headers.get('location')), sent);
  }
});

test('state comes back after a sign-in [A14]', async () => {
  const browser = server.browse();
  const signIn = await browser.open(withState('a%20b%26c'));
  const page = await browser.signIn(server.ada.email, 'correct horse battery', signIn);
  const response = await browser.submit(page, '/consent', { decision: 'allow' });

  assert.equal(signIn.status, 200);
  assert.equal(echoed(response.headers.get('location')), 'a%20b%26c');
});

/** A request whose query has this many characters once it is encoded again. */
function withEncodedLength(length: number): string {
  const encoded = (url: string) => encodeURIComponent(new URL(url).search.slice(1)).length;
  const rest = length - encoded(withState('')) - '%2525'.length * 1000;
  return withState('%25'.repeat(1000) + 'x'.repeat(rest));
}

test('the longest query that is accepted survives a sign-in in a browser that sends 7 kB of other headers', async () => {
  const url = withEncodedLength(8000);
  const browser = server.browse({ 'x-padding': 'x'.repeat(7000) });
  const signIn = await browser.open(url);
  const response = await browser.signIn(server.ada.email, 'correct horse battery', signIn);

  assert.equal(signIn.status, 200);
  assert.equal(echoed(response.headers.get('location')), echoed(url));
});

test('a longer query is an invalid_request, which the app receives with its state', async () => {
  for (const url of [
    withEncodedLength(8001),
    withState('%25'.repeat(3500)),
    `${withState('x')}&a=${'!'.repeat(4000)}`,
  ]) {
    const { status, location } = await fetchOnce(url);
    const { error, error_description, reason } = redirectParams(location);

    assert.deepEqual([status, error, reason], [303, 'invalid_request', 'value_not_allowed']);
    assert.match(error_description ?? '', /^The query is too long/);
    assert.equal(echoed(location), echoed(url));
  }
});

test('any query gets a page or a 303, and never a redirect to an unregistered address [X5]', async () => {
  const known = fc.constantFrom('client_id', 'redirect_uri', 'response_type', 'scope', 'state', 'prompt', 'asked');
  const value = fc.oneof(
    fc.constantFrom(server.ledger.id, 'https://ledger.example/callback', 'code', 'read:invoices', 'none', ''),
    anyText({ maxLength: 20 }).map(encodeURIComponent),
    fc.string({ maxLength: 20 }).map((text) => text.replace(/[^\x21-\x7e]|#/g, '%')),
  );
  const pair = fc.tuple(fc.oneof(known, fc.constantFrom('%73tate', 'a', '__proto__')), value);
  const query = fc.array(pair, { maxLength: 8 }).map((pairs) => pairs.map((each) => each.join('=')).join('&'));
  await fc.assert(
    fc.asyncProperty(query, async (text) => {
      const { status, location } = await fetchOnce(`${server.api}/api/v1/oauth/authorize?${text}`);
      assert.ok(status === 303 || status === 400, `${status}`);
      const to = location === null ? undefined : new URL(location).origin;
      assert.ok(to === undefined || [server.web, 'https://ledger.example'].includes(to), `${location}`);
    }),
    { numRuns: 300 },
  );
});
