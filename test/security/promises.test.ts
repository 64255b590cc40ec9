import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dictionary } from '@zxcvbn-ts/language-common';
import { hashNewPassword } from '../../src/accounts/passwords.ts';
import { DAY } from '../../src/lib/clock.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import type { Document } from '../../src/web/reference/document.ts';
import { insertEndpoint, rotateSecret } from '../../src/webhooks/endpoints.ts';
import { nextAttemptAt } from '../../src/webhooks/queue.ts';
import { freePort } from '../support/ports.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
const keys = createKeyring(server.settings.secretKeys);
const listen = () => {
  const endpoint = { appId: server.ledger.id, url: 'https://acme.example/hook', eventTypes: ['grant.created'] };
  return server.storage().transaction((tx) => insertEndpoint(tx, keys, endpoint, server.clock()));
};

test('none of the 3,000 most common passwords, or of those found in breaches, is accepted [S13]', async () => {
  const known = dictionary['passwords-common'].map(String).filter((password) => password.length >= 8);
  assert.ok(dictionary['passwords-common'].length >= 3000, String(dictionary['passwords-common'].length));

  for (const password of known.slice(0, 3000)) {
    await assert.rejects(hashNewPassword(server.ada, password), /attackers try first/, password);
  }
});

test('the signing secret of a webhook does not work as a refresh token [T24]', async () => {
  const { secret } = await listen();

  for (const sent of [secret, secret.replace('whsec_', 'grt_')]) {
    const { status, body } = await server.refresh(sent);
    assert.deepEqual([status, body.error], [400, 'invalid_grant']);
  }
});

test('each endpoint has its own signing secret of 24 to 64 bytes, also after a replacement [W2]', async () => {
  const [one, other] = [await listen(), await listen()];
  const next = await rotateSecret(server.storage().durable, keys, one.endpoint, server.clock());
  const secrets = [one.secret, other.secret, next];

  for (const secret of secrets) {
    assert.match(secret, /^whsec_[A-Za-z0-9+/]+=*$/);
    const { length } = Buffer.from(secret.slice('whsec_'.length), 'base64');
    assert.ok(length >= 24 && length <= 64, String(length));
  }
  assert.equal(new Set(secrets).size, 3);
});

test('a failed delivery is retried for days, with exponential backoff and jitter [W3]', () => {
  const pauses = (chance: number) => {
    const all: number[] = [];
    for (let next = nextAttemptAt(1, chance, 0); next !== null; next = nextAttemptAt(all.length + 1, chance, 0)) {
      all.push(next);
    }
    return all;
  };
  const [early, late] = [pauses(0), pauses(1)];

  assert.ok(early.length >= 8);
  assert.deepEqual(
    early,
    early.toSorted((a, b) => a - b),
  );
  assert.ok(early.reduce((sum, pause) => sum + pause) > 2 * DAY);
  for (const [index, pause] of early.entries()) assert.ok((late[index] ?? 0) > pause * 1.2, String(index));
});

test('the API serves plain HTTP requests, and does not redirect them to https [D7]', async () => {
  const port = await freePort();
  await startTestServer({ BASE_URL: 'https://auth.gatehouse.example', LISTEN: `127.0.0.1:${port}` });

  for (const path of [
    '/api/v1/accounting/invoices',
    '/api/v1/businesses',
    '/api/v1/me',
    '/healthz',
    '/api/v1/events',
  ]) {
    const { status, headers } = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual' });
    assert.ok([200, 401].includes(status), `${path} ${status}`);
    assert.equal(headers.get('location'), null);
  }
  for (const endpoint of ['token', 'revoke', 'introspect']) {
    const sent = { method: 'POST', body: new URLSearchParams({ token: 'x' }), redirect: 'manual' } as const;
    const { status, headers } = await fetch(`http://127.0.0.1:${port}/api/v1/oauth/${endpoint}`, sent);
    assert.ok([200, 400, 401].includes(status), `${endpoint} ${status}`);
    assert.equal(headers.get('location'), null);
  }
});

test('deprecated operations announce their removal half a year before, and no others do', async () => {
  const document = (await (await fetch(`${server.api}/openapi.json`)).json()) as Document;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation: operation as object })),
  );
  assert.ok(operations.length > 8);

  for (const { path, method, operation } of operations) {
    const { headers } = await fetch(server.api + path, { method, redirect: 'manual' });
    const isDeprecated = 'deprecated' in operation && operation.deprecated === true;
    assert.equal(headers.has('deprecation'), isDeprecated, path);
    const [since, until] = ['deprecation', 'sunset'].map((name) => headers.get(name));
    if (isDeprecated) assert.ok(Date.parse(until ?? '') - Number(since?.slice(1)) * 1000 >= 180 * DAY, path);
  }
});
