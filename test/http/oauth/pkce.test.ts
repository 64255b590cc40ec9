import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url');
const allowWith = (verifier: string) =>
  server.allow({ code_challenge: challengeOf(verifier), code_challenge_method: 'S256' }, browser);

test('the code_verifier of RFC 7636 fits its challenge', async () => {
  assert.equal(challengeOf(VERIFIER), 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
  assert.equal((await server.exchange(await allowWith(VERIFIER), { code_verifier: VERIFIER })).status, 200);
});

test('a verifier may have 43 to 128 of the unreserved characters [T9]', async () => {
  for (const verifier of ['a'.repeat(43), `${'Az09'.repeat(31)}-._~`]) {
    const { status } = await server.exchange(await allowWith(verifier), { code_verifier: verifier });
    assert.equal(status, 200, verifier);
  }
  for (const verifier of ['a'.repeat(42), 'a'.repeat(129), `${'a'.repeat(43)}+`, `${'a'.repeat(43)} `]) {
    const { status, body } = await server.exchange(await allowWith(verifier), { code_verifier: verifier });
    assert.deepEqual([status, body.error], [400, 'invalid_grant'], verifier);
  }
});

test('a missing or wrong verifier is rejected, and spends the code: there is no second guess [T9][T11]', async () => {
  for (const code_verifier of [undefined, '', 'b'.repeat(43), VERIFIER.toLowerCase(), challengeOf(VERIFIER)]) {
    const code = await allowWith(VERIFIER);

    const guess = await server.exchange(code, { code_verifier });
    const right = await server.exchange(code, { code_verifier: VERIFIER });

    assert.deepEqual([guess.status, guess.body.error], [400, 'invalid_grant'], `${code_verifier}`);
    assert.deepEqual([right.status, right.body.error], [400, 'invalid_grant'], `${code_verifier}`);
    assert.deepEqual(
      [right.body.reason, right.body.error_description],
      [guess.body.reason, guess.body.error_description],
    );
  }
});

test('of 20 parallel guesses none succeeds once a wrong one was checked first [T11]', async () => {
  const code = await allowWith(VERIFIER);
  const wrong = Array.from({ length: 20 }, (_, i) => server.exchange(code, { code_verifier: String(i).repeat(43) }));

  const responses = await Promise.all(wrong);

  assert.ok(responses.every(({ body }) => body.error === 'invalid_grant'));
  assert.equal((await server.exchange(code, { code_verifier: VERIFIER })).body.error, 'invalid_grant');
});

test('a verifier for a code without a challenge is rejected as a downgrade [T10]', async () => {
  const code = await server.allow({}, browser);

  const { status, body } = await server.exchange(code, { code_verifier: VERIFIER });

  assert.deepEqual([status, body.error], [400, 'invalid_grant']);
  assert.match(body.error_description, /no code_challenge/);
  assert.equal((await server.exchange(code)).body.reason, 'code_verifier_unexpected');
});

test('an app that requires PKCE can connect with it', async () => {
  const careful = await server.addApp({ ownerBusinessId: server.acme.id, requiresPkce: true });
  const code = await server.allow(
    { client_id: careful.id, code_challenge: challengeOf(VERIFIER), code_challenge_method: 'S256' },
    browser,
  );
  const credentials = { client_id: careful.id, client_secret: careful.secret };

  assert.equal((await server.exchange(code, { ...credentials, code_verifier: VERIFIER })).status, 200);
});
