import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApi, createApp } from '../../../sdk/typescript/src/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a program without types may pass.
type Anything = any;

const BUSINESS = '0190a4c2-0000-7000-8000-000000000001';
const requests: unknown[] = [];
const fetch: Anything = async (url: unknown) => {
  requests.push(url);
  return Response.json([]);
};

const registration = {
  baseUrl: 'https://api.example.com',
  clientId: 'app-1',
  clientSecret: 'gcs_1',
  redirectUri: 'https://ledger.example/callback',
};
const tokens = {
  accessToken: 'gat_1',
  refreshToken: 'grt_1',
  expiresAt: '2030-01-31T12:00:00.000Z',
  scopes: ['read:invoices'],
};
const pending = { state: 'state-1', codeVerifier: 'verifier-1' };
const callback = '?code=gac_1&state=state-1&iss=https%3A%2F%2Fapi.example.com';

const newApp = (changes: Anything = {}) => createApp({ ...registration, fetch, ...changes });
const newApi = (changes: Anything = {}) => createApi({ ...registration, accessToken: 'gat_1', fetch, ...changes });
const withTokens = (changes: Anything) => newApp().api({ tokens: { ...tokens, ...changes }, save: () => {} });
const app = newApp();
const api = newApi();

/** Missing, of another type, empty, or with invalid characters. */
const NO_TEXT = [undefined, null, '', 7, {}, ['x'], 'with space', 'line\nbreak', 'nul\u0000', ' leading', 'tab\t'];
const NO_TOKEN = [...NO_TEXT, 'gat_ü', 'gat_\u007f', '“quoted”'];
const NO_SCOPES = [undefined, null, '', 'read:invoices', [], [''], ['two words'], ['"quoted"'], ['back\\slash'], [7]];
const NO_COUNT = [null, 0, -1, 201, 1.5, '50', Number.NaN, Number.POSITIVE_INFINITY, 10n];
const NO_OPTIONAL_TEXT = [null, '', 7, {}];
const NO_TIME = [undefined, null, '1', '2030-01-31', '2030-13-01T00:00:00Z', Number.NaN, 1e300, new Date()];
const NO_OBJECT = [null, 'text', 7];
const NO_FUNCTION = [null, {}, 'save', 7];
const NO_URL = [
  undefined,
  null,
  '',
  7,
  new URL('https://api.example.com'),
  'api.example.com',
  'ftp://api.example.com',
  'http://api.example.com',
  'http://localhost.example.com',
  'http://127.0.0.2',
  'https://',
  'https://api.example.com/v1',
  'https://api.example.com//',
  'https://api.example.com?x=1',
  'https://api.example.com#x',
  'https://user:pass@api.example.com',
  'https://user@api.example.com',
  'https:\\\\api.example.com',
  'https:api.example.com',
  ' https://api.example.com',
  'https://api.example.com\n',
  'https://api.example.com:99999',
  'https://[::1',
];
/** Not an absolute http(s) URL with a host, or one with a fragment. */
const NO_REDIRECT_URI = [
  'callback',
  '/callback',
  '//ledger.example/callback',
  'ledger.example/callback',
  'https:ledger.example',
  'https:/ledger.example',
  'https:///callback',
  'https://',
  'https://?x',
  'https://:8080/callback',
  'https://[::1/callback',
  'https://ledger.example:99999/callback',
  'https:\\\\ledger.example',
  'https://ledger.example/callback#',
  'https://ledger.example/callback#fragment',
  'ftp://ledger.example/callback',
  'javascript:alert(1)',
  'ledger-app:/callback',
];

/** The name in the error message, a use of the argument, and invalid values. */
const TABLE: [name: string, use: (value: Anything) => unknown, values: unknown[]][] = [
  ['createApp', (value) => createApp(value), [...NO_OBJECT, undefined]],
  ['createApi', (value) => createApi(value), [...NO_OBJECT, undefined]],
  ['baseUrl', (baseUrl) => newApp({ baseUrl }), NO_URL],
  ['baseUrl', (baseUrl) => newApi({ baseUrl }), NO_URL],
  ['clientId', (clientId) => newApp({ clientId }), NO_TEXT],
  ['clientSecret', (clientSecret) => newApp({ clientSecret }), NO_TEXT],
  ['redirectUri', (redirectUri) => newApp({ redirectUri }), [...NO_TEXT, ...NO_REDIRECT_URI]],
  ['timeout', (timeout) => newApp({ timeout }), [null, 0, -1, '30', Number.NaN, 600_001, Number.POSITIVE_INFINITY]],
  ['fetch', (value) => newApi({ fetch: value }), NO_FUNCTION],
  ['accessToken', (accessToken) => newApi({ accessToken }), NO_TOKEN],
  ['beginAuthorization', (value) => app.beginAuthorization(value), [...NO_OBJECT, undefined]],
  ['scopes', (scopes) => app.beginAuthorization({ scopes }), NO_SCOPES],
  [
    'optionalScopes',
    (it) => app.beginAuthorization({ scopes: ['read:invoices'], optionalScopes: it }),
    NO_SCOPES.slice(1),
  ],
  ['prompt', (prompt) => app.beginAuthorization({ scopes: ['read:invoices'], prompt }), [null, '', 'consent', 7]],
  ['callbackUrl', (value) => app.finishAuthorization(value, pending), [undefined, null, '', 7, {}]],
  ['finishAuthorization', (value) => app.finishAuthorization(callback, value), [...NO_OBJECT, undefined]],
  ['state', (state) => app.finishAuthorization(callback, { ...pending, state }), NO_TEXT],
  ['codeVerifier', (codeVerifier) => app.finishAuthorization(callback, { ...pending, codeVerifier }), NO_TEXT],
  ['refreshToken', (value) => app.refresh(value), NO_TOKEN],
  ['refresh', (value) => app.refresh('grt_1', value), NO_OBJECT],
  ['scopes', (scopes) => app.refresh('grt_1', { scopes }), NO_SCOPES.slice(1)],
  ['token', (value) => app.revoke(value), NO_TOKEN],
  ['token', (value) => app.introspect(value), NO_TOKEN],
  ['api', (value) => app.api(value), [...NO_OBJECT, undefined]],
  ['tokens', (value) => app.api({ tokens: value, save: () => {} }), [...NO_OBJECT, undefined]],
  ['tokens.accessToken', (accessToken) => withTokens({ accessToken }), NO_TOKEN],
  ['tokens.refreshToken', (refreshToken) => withTokens({ refreshToken }), NO_TOKEN],
  ['tokens.expiresAt', (expiresAt) => withTokens({ expiresAt }), NO_TIME],
  ['tokens.scopes', (scopes) => withTokens({ scopes }), [undefined, null, 'read:invoices', ['two words'], [7]]],
  ['save', (save) => app.api({ tokens, save }), [...NO_FUNCTION, undefined]],
  ['load', (load) => app.api({ tokens, save: () => {}, load }), NO_FUNCTION],
  ['businessId', (value) => api.invoicePage(value), [...NO_TEXT, 'acme', `${BUSINESS}0`, ` ${BUSINESS}`]],
  ['businessId', (value) => api.invoices(value), [...NO_TEXT, 'acme', `${BUSINESS}0`, ` ${BUSINESS}`]],
  [
    'path',
    (path) => api.request(path),
    [...NO_TEXT, 'api/v1/me', 'https://evil.example/', '@evil.example', '/a#b', '/a\\b', '/ü'],
  ],
  ['request', (value) => api.request('/api/v1/me', value), NO_OBJECT],
  ['method', (method) => api.request('/api/v1/me', { method }), [null, '', 'get', 'TRACE', 7]],
  ['businessId', (businessId) => api.request('/api/v1/me', { businessId }), [7, 'acme', `${BUSINESS}0`]],
  ['query', (query) => api.request('/api/v1/me', { query }), NO_OBJECT],
  ['body', (body) => api.request('/api/v1/me', { method: 'POST', body }), NO_OBJECT],
  ['idempotencyKey', (it) => api.request('/api/v1/me', { method: 'POST', idempotencyKey: it }), NO_TOKEN.slice(1)],
  ['getAccessToken', (value) => api.getAccessToken(value), NO_OBJECT],
  ['invoicePage', (value) => api.invoicePage(BUSINESS, value), NO_OBJECT],
  ['invoices', (value) => api.invoices(BUSINESS, value), NO_OBJECT],
  ['limit', (limit) => api.invoicePage(BUSINESS, { limit }), NO_COUNT],
  ['pageSize', (pageSize) => api.invoices(BUSINESS, { pageSize }), NO_COUNT],
  ['status', (status) => api.invoicePage(BUSINESS, { status }), NO_OPTIONAL_TEXT],
  ['status', (status) => api.invoices(BUSINESS, { status }), NO_OPTIONAL_TEXT],
  ['cursor', (cursor) => api.invoicePage(BUSINESS, { cursor }), NO_OPTIONAL_TEXT],
];

for (const [name, use, values] of TABLE) {
  test(`a malformed argument is rejected before any request, by name: ${name} in ${use}`, async () => {
    for (const value of values) {
      const rejected = await errorOf(() => use(value));
      assert.ok(rejected instanceof TypeError, `${String(value)}: ${rejected}`);
      assert.match(rejected.message, new RegExp(`(^|\\W)${name} must be .+\\.$`));
      assert.ok(rejected.cause === undefined);
    }
    assert.deepEqual(requests, []);
  });
}

test('a malformed secret is not repeated in the error', async () => {
  const secret = 'hush hush';
  const uses = [
    () => newApp({ clientSecret: secret }),
    () => newApi({ accessToken: secret }),
    () => app.refresh(secret),
    () => app.revoke(secret),
    () => app.finishAuthorization(callback, { ...pending, codeVerifier: secret }),
    () => app.finishAuthorization(callback, { ...pending, state: secret }),
    () => withTokens({ refreshToken: secret }),
  ];
  for (const use of uses) {
    const error = await errorOf(use);
    assert.ok(error instanceof TypeError);
    assert.ok(!`${error.stack}`.includes('hush'));
  }
});

test('valid arguments are accepted', () => {
  const urls = ['http://localhost', 'http://localhost:4000/', 'http://127.0.0.1:4000', 'http://[::1]:4000'];
  for (const baseUrl of [...urls, 'https://api.example.com/', 'https://API.example.com:8443']) newApp({ baseUrl });
  const ports = ['http://127.0.0.1:8080/callback', 'http://[::1]/callback', 'HTTPS://Ledger.example?x=1'];
  for (const redirectUri of ports) newApp({ redirectUri });
  for (const timeout of [1, 0.5, 600_000, undefined]) newApp({ timeout });
  newApp({ fetch: undefined });
  withTokens({ scopes: [], expiresAt: '2030-01-31T12:00:00Z' });
  for (const expiresAt of [-1, 0, 1.5]) withTokens({ expiresAt });
  app.api({ tokens, save: () => {}, load: undefined });
  api.invoices(BUSINESS.toUpperCase(), { pageSize: undefined, status: undefined });
  assert.deepEqual(requests, []);
});

/** The error, thrown or rejected. */
async function errorOf(use: () => unknown): Promise<unknown> {
  try {
    await use();
  } catch (error) {
    return error;
  }
  return assert.fail('the argument was accepted');
}
