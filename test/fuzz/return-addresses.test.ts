import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toBody } from '../support/browser.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { sendRaw } from '../support/raw-http.ts';
import { startTestServer } from '../support/test-server.ts';
import { formsOf } from './crawl.ts';
import { newRandom } from './random.ts';

const COUNT = 200;
const BEGINNINGS = [
  '/',
  '//',
  '///',
  '/\\',
  '\\\\',
  '\\/',
  '/\t/',
  '/\n/',
  '\t//',
  ' //',
  '/./',
  '/..//',
  '/%2f',
  '/%5c',
  '/%09/',
  'https:',
  'https://',
  'http:/',
  'HTTPS://',
  '@',
  '/@',
  'javascript:',
  'data:,',
  '/settings/..//',
  '/settings/%2e%2e//',
  '/settings/\\..\\',
  '/consent?',
  '/consent/../',
  '\u2215\u2215',
  '/\u3002',
  '/\ud800/',
  '/\0/',
  '?',
  '#',
  ';',
  '',
];
const TARGETS = [
  'evil.example',
  'evil.example/settings/',
  'settings/account',
  'settings/account@evil.example',
  'user@evil.example',
  '[::1]:9',
  '127.0.0.1',
  '0x7f.1',
  'evil.example\\@',
  'evil.example%00',
  'evil\u3002example',
  'consent?redirect_uri=//evil.example',
  'platform/../../evil.example',
  '',
  '%0d%0alocation:evil.example',
];

function makeReturnAddresses(): string[] {
  const made = new Set<string>();
  for (let number = 0; made.size < COUNT; number++) {
    const random = newRandom(3, number);
    made.add(random.pick(BEGINNINGS) + random.pick(TARGETS));
  }
  return [...made];
}

const server = await startTestServer({ LIMIT_SIGN_IN_PER_ACCOUNT: '100000', LIMIT_SIGN_IN_PER_ADDRESS: '100000' });
const browser = await server.signedIn();
const csrf = await browser.csrf();
const guest = server.browse();
/** The form fields and the cookie of a browser without a session. */
const signedOut = { csrf: await guest.csrf(), cookie: `__Host-visitor=${guest.cookies.get('__Host-visitor')}` };
const addresses = makeReturnAddresses();

/** Where a browser would go. */
function assertStays(location: string | null | undefined, address: string): void {
  assert.equal(typeof location, 'string', address);
  assert.equal(
    URL.parse(location ?? '', `${server.web}/sign-in`)?.origin,
    server.web,
    `${address} leads to ${location}`,
  );
  assert.match(location ?? '', /^\/(?![/\\])[\x21-\x7e]*$/, address);
}

async function postSignedOut(path: string, fields: Record<string, string>, referer = ''): Promise<string | null> {
  const { csrf, cookie } = signedOut;
  const body = toBody({ csrf, ...fields });
  const headers = { cookie, ...(referer && { referer }) };
  return (await fetch(server.web + path, { method: 'POST', body, headers, redirect: 'manual' })).headers.get(
    'location',
  );
}

test('none of 200 return addresses leads off this host, on any page that accepts one [S7][S8]', async () => {
  for (const return_to of addresses) {
    const switched = await browser.fetch('/settings/current-business', {
      method: 'POST',
      body: toBody({ csrf, return_to, business: server.acme.id }),
    });
    assertStays(switched.headers.get('location'), return_to);
    const { text } = await browser.open(`/sign-in?${new URLSearchParams({ return_to })}`);
    for (const { fields } of formsOf(text)) {
      const offered = fields.find(([name]) => name === 'return_to')?.[1];
      if (offered !== undefined) assertStays(offered, return_to);
    }
    assertStays(await postSignedOut('/consent', { return_to, decision: 'allow' }), return_to);
  }
});

test('signing in leads to none of them either [S7][S8]', async () => {
  for (const return_to of addresses.filter((_, index) => index % 8 === 0)) {
    const fields = { return_to, email: server.ada.email, password: PASSWORD };
    assertStays(await postSignedOut('/sign-in', fields), return_to);
  }
});

test('a user who has to sign in first returns to this host, whatever URL or page they came from [S8]', async () => {
  for (const address of addresses) {
    const path = `/settings/account?${encodeURIComponent(address.toWellFormed())}`;
    const { location } = await sendRaw(server.web, { path });
    assertStays(new URL(location ?? '', server.web).searchParams.get('return_to'), address);
    const referer = `${server.web}${encodeURI(address.toWellFormed())}`;
    const over = await postSignedOut('/settings/account/name', { name: 'x' }, referer);
    assertStays(over, address);
    assertStays(new URL(over ?? '', server.web).searchParams.get('return_to') ?? '/', address);
  }
});
