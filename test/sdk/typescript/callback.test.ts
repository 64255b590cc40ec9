import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApp, GatehouseError } from '../../../sdk/typescript/src/index.ts';

const ISSUER = 'https://api.example.com';
const pending = { state: 'state-1', codeVerifier: 'verifier-1' };
const app = createApp({
  baseUrl: ISSUER,
  clientId: 'app-1',
  clientSecret: 'gcs_1',
  redirectUri: 'https://ledger.example/callback',
  fetch: () => assert.fail('nothing is sent'),
});

/** The result of a callback with these parameters. */
async function errorFrom(response: Record<string, string> | string): Promise<GatehouseError> {
  const query = new URLSearchParams(response);
  query.set('state', pending.state);
  const error = await app.finishAuthorization(`/callback?${query}`, pending).catch((reason) => reason);
  assert.ok(error instanceof GatehouseError, String(error));
  return error;
}

const denied = (more: Record<string, string>) => errorFrom({ iss: ISSUER, error: 'access_denied', ...more });

test('the error names a wrong issuer, and the expected one from baseUrl', async () => {
  const { code, description } = await errorFrom({ iss: 'https://evil.example', code: 'gac_1' });

  assert.equal(code, 'issuer_mismatch');
  assert.equal(description, 'This callback comes from https://evil.example, and baseUrl is https://api.example.com.');
});

test('a wrong issuer is named on one line, and up to 200 characters', async () => {
  const { description } = await errorFrom({ iss: `https://evil\r\n${'x'.repeat(5000)}`, code: 'gac_1' });

  const shown = `https://evil ${'x'.repeat(200 - 14)}`;
  assert.equal(description, `This callback comes from ${shown}, and baseUrl is https://api.example.com.`);
});

test('a callback with no issuer, or more than one, is reported as having none', async () => {
  const wanted = 'This callback does not have exactly one issuer (iss), which should be https://api.example.com.';

  for (const response of ['code=gac_1', 'code=gac_1&iss=', `code=gac_1&iss=${ISSUER}&iss=${ISSUER}`]) {
    const { code, description } = await errorFrom(response);
    assert.deepEqual([code, description], ['issuer_mismatch', wanted]);
  }
});

test('an error in the callback has its reason and error_uri, if they were sent', async () => {
  const page = `${ISSUER}/docs/errors/access_denied#denied_by_user`;
  const complete = await denied({ reason: 'denied_by_user', error_uri: page });
  const bare = await denied({});

  assert.deepEqual([complete.code, complete.reason, complete.uri], ['access_denied', 'denied_by_user', page]);
  assert.deepEqual([bare.code, bare.reason, bare.uri], ['access_denied', 'access_denied', undefined]);
});

test('a callback with a repeated parameter is rejected, and its code is not exchanged', async () => {
  for (const response of [
    'error=a&error=b&code=x',
    'error=&error=b&code=x',
    'code=x&code=x',
    'code=x&reason=&reason=',
  ]) {
    assert.equal((await errorFrom(`iss=${ISSUER}&${response}`)).code, 'invalid_response', response);
  }
});

test('every field of the callback is limited in length, without control characters', async () => {
  const error = await errorFrom({
    iss: ISSUER,
    error: 'access_denied\r\nFAKE LOG',
    error_description: `\u001b[2Jone\u2028two${'x'.repeat(600)}`,
    error_uri: `https://evil.example/\n${'x'.repeat(3000)}`,
  });

  assert.equal(error.code, 'access_denied FAKE LOG');
  assert.equal(error.reason, error.code);
  assert.equal(error.description, ` [2Jone two${'x'.repeat(500 - 11)}`);
  assert.equal(error.uri, `https://evil.example/ ${'x'.repeat(2000 - 22)}`);
  assert.equal(error.message, `${error.code}: ${error.description}`);
});
