import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toBody } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const csrf = await browser.csrf();

async function signInWith(return_to: string): Promise<string | null> {
  const visitor = server.browse();
  const body = toBody({ csrf: await visitor.csrf(), return_to, email: server.ada.email, password: PASSWORD });
  const response = await visitor.fetch('/sign-in', { method: 'POST', body });
  assert.equal(response.status, 303);
  return response.headers.get('location');
}

async function switchWith(return_to: string): Promise<string | null> {
  const body = toBody({ csrf, return_to, business: server.acme.id });
  const response = await browser.fetch('/settings/current-business', { method: 'POST', body });
  assert.equal(response.status, 303);
  return response.headers.get('location');
}

async function offeredFor(return_to: string): Promise<string> {
  const { text } = await browser.open(`/sign-in?${new URLSearchParams({ return_to })}`);
  return /name="return_to" value="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
}

const KEPT = [
  '/',
  '/settings/account',
  '/settings/developer/new?from=mail&x=%2F%2Fevil.example',
  '/settings/developer/01a1dd0a-eb11-7000-997c-587fb8fee946',
  '/platform/developer/apps',
  '/invitation/4Jv0S1m2d3Qx7yWfKz9rTbLcNhEoUaPgIiMwXsYtVQk',
  '/consent?client_id=x&redirect_uri=https%3A%2F%2Fevil.example%2F',
  '/consent?redirect_uri=https://evil.example/',
];

for (const path of KEPT) {
  test(`after signing in, ${path} is an allowed return address [S7]`, async () => {
    assert.equal(await offeredFor(path), path);
    assert.equal(await signInWith(path), path);
    assert.equal(await switchWith(path), path);
  });
}

test('a path of this host that is not on the list leads to the front page [S7]', async () => {
  for (const path of ['/sign-out', '/sign-in', '/assets/style.css', '/consent/x', '/settingsx/', '/healthz', '/x']) {
    assert.equal(await offeredFor(path), '/', path);
    assert.equal(await switchWith(path), '/', path);
  }
  assert.equal(await signInWith('/sign-out'), '/');
});

const TRICKS = [
  '',
  'settings/account',
  '//evil.example',
  '//evil.example/settings/',
  '///evil.example',
  '////evil.example/settings/',
  '/\\evil.example',
  '/\\/evil.example',
  '\\\\evil.example',
  '\\/evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/\r/evil.example',
  '\t//evil.example',
  ' //evil.example',
  ' /settings/account',
  '/%09/evil.example',
  '/%2F/evil.example',
  '/%5cevil.example',
  '/.//evil.example',
  '/..//evil.example',
  '/settings/..//evil.example',
  '/settings/%2e%2e//evil.example',
  '/settings/../\\evil.example',
  '/settings/../sign-out',
  'https:evil.example',
  'https:/evil.example',
  'https://evil.example',
  'http://evil.example/settings/',
  'HTTPS://evil.example',
  'user@evil.example',
  '@evil.example',
  '/@evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  '/sign-out',
  '/sign-in',
  '/assets/gatehouse.css',
  '/api/v1/oauth/authorize',
  '/consent/../sign-out',
  '/settings/\u0000account',
  '/settings/acc\u00f6unt',
  '/settings/account\r\nset-cookie: a=b',
  `${server.web}.evil.example/settings/`,
  `${server.web}/settings/account`,
];

for (const trick of TRICKS) {
  test(`a return_to of ${JSON.stringify(trick)} leads to the front page of this host [S8]`, async () => {
    for (const location of [await offeredFor(trick), await signInWith(trick), await switchWith(trick)]) {
      assert.equal(location, '/');
    }
  });
}

test('a return_to that is sent twice leads to the front page [S7]', async () => {
  const body = toBody({ csrf, return_to: ['/settings/account', '//evil.example'], business: server.acme.id });

  const response = await browser.fetch('/settings/current-business', { method: 'POST', body });

  assert.equal(response.headers.get('location'), '/');
});

test('the front page leads to what the user has connected', async () => {
  const response = await browser.fetch('/');

  assert.equal(response.status, 303);
  assert.equal(response.headers.get('location'), '/settings/connected-apps');
});
