import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, mock, test } from 'node:test';
import { inspect } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { GatehouseError, verifyWebhook, type WebhookOptions } from '../../../sdk/typescript/src/index.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { insertEndpoint, rotateSecret } from '../../../src/webhooks/endpoints.ts';
import { startTestServer } from '../../support/test-server.ts';
import { startWebhookReceiver } from '../../support/webhook-receiver.ts';

const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes' });
const keys = createKeyring(server.settings.secretKeys);
const NOW = server.clock();
// Both libraries use the real clock, so this sets it to the time of the server.
mock.timers.enable({ apis: ['Date'], now: NOW });
after(() => mock.timers.reset());

const SECRET = newSecret();
const EVENT = { type: 'invoice.paid', timestamp: '2029-12-31T23:59:58.500Z', data: { number: 'Ä-7 €' } };
const BODY = JSON.stringify(EVENT);

function newSecret(bytes = 32): string {
  return `whsec_${randomBytes(bytes).toString('base64')}`;
}

/** Signs a message with the public library. */
function sign({ body = BODY, secrets = [SECRET], at = NOW, id = 'msg_1' } = {}) {
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, new Date(at), body));
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': signatures.join(' '),
  };
}

const verify = (changes: object = {}) =>
  verifyWebhook({ secret: SECRET, headers: sign(), body: BODY, ...changes } as WebhookOptions);

async function assertRejected(changes: object, reason: string): Promise<void> {
  await assert.rejects(verify(changes), (error) => {
    assert.ok(error instanceof GatehouseError);
    assert.deepEqual([error.code, error.reason, error.status], ['webhook_rejected', reason, undefined]);
    assertSilent(error);
    return true;
  });
}

/** Asserts that the error contains neither the secret nor the expected signature. */
function assertSilent(error: Error): void {
  const shown = inspect(error, { showHidden: true, depth: Number.POSITIVE_INFINITY });
  assert.doesNotMatch(shown, /v1,|whsec_[\w+/]/);
  assert.ok(!shown.includes(SECRET.slice('whsec_'.length)));
}

async function listen() {
  const [app, receiver] = [await server.addApp({ ownerBusinessId: server.acme.id }), await startWebhookReceiver()];
  const addition = { appId: app.id, url: receiver.url, eventTypes: ['grant.created'] };
  const { endpoint, secret } = await insertEndpoint(server.storage().durable, keys, addition, server.clock());
  return { app, receiver, endpoint, secret };
}

test('a delivery of the server is verified by this library and by the public one', async () => {
  const { app, receiver, secret } = await listen();
  await server.allow({ client_id: app.id });
  const [delivery] = await receiver.waitFor(1);
  assert.ok(delivery);
  const { headers, body } = delivery;

  const event = await verifyWebhook({ secret, headers, body });
  const seen = new Webhook(secret).verify(body, headers as Record<string, string>);

  assert.ok(event.type === 'grant.created');
  const { grantId, ...rest } = event.data;
  assert.deepEqual(
    { ...event, data: rest },
    {
      id: headers['webhook-id'],
      type: 'grant.created',
      timestamp: new Date(NOW).toISOString(),
      data: { businessId: server.acme.id, userId: server.ada.id, scopes: ['read:invoices'], connectedFor: 'user' },
    },
  );
  assert.match(String(grantId), /^[\da-f-]{36}$/);
  assert.deepEqual(seen, { type: event.type, timestamp: event.timestamp, data: event.data });
});

test('while a secret is being replaced, a delivery is verified by the old one, the new one, or both', async () => {
  const { app, receiver, endpoint, secret } = await listen();
  const newer = await rotateSecret(server.storage().durable, keys, endpoint, server.clock());
  await server.allow({ client_id: app.id });
  const [delivery] = await receiver.waitFor(1);
  assert.ok(delivery);
  const { headers, body } = delivery;

  for (const secrets of [[secret], [newer], [newer, secret], [SECRET, secret]]) {
    assert.equal((await verifyWebhook({ secrets, headers, body })).type, 'grant.created');
  }
  await assert.rejects(verifyWebhook({ secrets: [SECRET], headers, body }), { reason: 'signature_wrong' });
  new Webhook(secret).verify(body, headers as Record<string, string>);
  new Webhook(newer).verify(body, headers as Record<string, string>);
});

test('a message of the public library is read, whatever form its headers and its body have', async () => {
  const expected = { id: 'msg_1', ...EVENT };
  const bytes = new TextEncoder().encode(BODY);
  const [padded, headers] = [new Uint8Array(bytes.length + 9), sign()];
  padded.set(bytes, 4);
  const capitals = Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]);

  for (const form of [BODY, bytes, Buffer.from(BODY), bytes.buffer, padded.subarray(4, 4 + bytes.length)]) {
    assert.deepEqual(await verify({ body: form }), expected);
  }
  for (const form of [
    new Headers(headers),
    new Map(Object.entries(headers)),
    Object.fromEntries(capitals),
    Object.assign(Object.create(null), headers),
    { ...headers, 'webhook-id': ['msg_1'], cookie: undefined },
  ]) {
    assert.deepEqual(await verify({ headers: form }), expected);
  }
});

test('secrets of every length in the specification are accepted', async () => {
  for (let bytes = 24; bytes <= 64; bytes += 1) {
    const secret = newSecret(bytes);
    assert.equal((await verify({ secret, headers: sign({ secrets: [secret] }) })).id, 'msg_1');
  }
});

test('of several signatures one matching v1 is enough', async () => {
  const headers = sign();
  const good = headers['webhook-signature'];
  const [, mac = ''] = good.split(',');
  const signedBy = (signature: string) => ({ headers: { ...headers, 'webhook-signature': signature } });

  for (const signature of [`v1,AAAA ${good}`, `${good} v1a,AAAA`, `v2,${mac} x ${good}`]) {
    assert.equal((await verify(signedBy(signature))).id, 'msg_1');
  }
  for (const signature of [
    `v2,${mac}`,
    `v1a,${mac}`,
    `V1,${mac}`,
    mac,
    `v1,${mac.slice(0, -1)}`,
    `v1,${mac}=`,
    `${good},${mac}`,
    `v1,${'A'.repeat(43)}=`,
    'v1,',
  ]) {
    await assertRejected(signedBy(signature), 'signature_wrong');
  }
});

test('a message that was changed, or signed with another secret, is rejected', async () => {
  const headers = sign();
  for (const changes of [
    { body: `${BODY} ` },
    { body: BODY.replace('7', '8') },
    { body: '' },
    { headers: { ...headers, 'webhook-id': 'msg_2' } },
    { headers: { ...headers, 'webhook-id': 'msg 1' } },
    { headers: { ...headers, 'webhook-timestamp': String(NOW / 1000 + 1) } },
    { headers: { ...headers, 'webhook-timestamp': `${NOW / 1000}.0` } },
    { headers: { ...headers, 'webhook-timestamp': '1e9' } },
    { headers: sign({ secrets: [newSecret()] }) },
    { secret: newSecret() },
  ]) {
    await assertRejected(changes, 'signature_wrong');
  }
});

test('a message without its headers, or with one of them twice, is rejected', async () => {
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const) {
    const { [name]: value, ...others } = sign();
    for (const headers of [
      others,
      new Headers(others),
      { ...others, [name]: '' },
      { ...others, [name]: [value, value] },
      { ...others, [name]: value, [name.toUpperCase()]: value },
    ]) {
      await assertRejected({ headers }, 'signature_missing');
    }
  }
});

test('a message is accepted for five minutes, or for the tolerance of the app, and not if it is from the future', async () => {
  const sent = (seconds: number) => sign({ at: NOW + seconds * 1000 });

  for (const seconds of [-300, 300]) assert.equal((await verify({ headers: sent(seconds) })).id, 'msg_1');
  await assertRejected({ headers: sent(-301) }, 'too_old');
  await assertRejected({ headers: sent(301) }, 'too_new');
  await assertRejected({ headers: sent(-11), tolerance: 10 }, 'too_old');
  assert.equal((await verify({ headers: sent(-3600), tolerance: 3600 })).id, 'msg_1');
  await assertRejected({ headers: sign({ at: NOW - 301_000, secrets: [newSecret()] }) }, 'signature_wrong');
});

test('a signed message that is not an event is rejected', async () => {
  const { type, timestamp, data } = EVENT;
  for (const value of [
    [],
    null,
    7,
    { timestamp, data },
    { type: '', timestamp, data },
    { type, data },
    { type, timestamp: 1, data },
    { type, timestamp: 'yesterday', data },
    { type, timestamp: '2029-13-01T00:00:00Z', data },
    { type, timestamp },
    { type, timestamp, data: null },
    { type, timestamp, data: ['x'] },
  ]) {
    const body = JSON.stringify(value);
    await assertRejected({ body, headers: sign({ body }) }, 'body_malformed');
  }
  for (const body of ['', '{', `\ufeff${BODY}`, BODY.replace('"Ä-7 €"', 'NaN')]) {
    await assertRejected({ body, headers: sign({ body }) }, 'body_malformed');
  }
});

const WRONG_ARGUMENTS: [name: string, changes: object][] = [
  ['secret', { secret: undefined }],
  ['secret', { secrets: [SECRET] }],
  ...[null, 7, '', 'whsec_', SECRET.slice(6), `${SECRET}\n`, `${SECRET}=`, newSecret(23), newSecret(65), [SECRET]].map(
    (secret): [string, object] => ['secret', { secret }],
  ),
  ...[null, [], SECRET, [SECRET, 'whsec_'], [undefined]].map((secrets): [string, object] => [
    'secrets',
    { secret: undefined, secrets },
  ]),
  ...[undefined, null, 'x', ['webhook-id', 'msg_1']].map((headers): [string, object] => ['headers', { headers }]),
  ...[undefined, null, 7, EVENT, [1]].map((body): [string, object] => ['body', { body }]),
  ...[null, 0, -1, Number.NaN, Number.POSITIVE_INFINITY, 300_000, '300'].map((tolerance): [string, object] => [
    'tolerance',
    { tolerance },
  ]),
];

test('an invalid argument is a TypeError that names it without its value', async () => {
  for (const [name, changes] of WRONG_ARGUMENTS) {
    await assert.rejects(verify({ headers: {}, ...changes }), (error) => {
      assert.ok(error instanceof TypeError, `${inspect(changes)}: ${error}`);
      assert.match(error.message, new RegExp(`^(each of )?${name} must be `));
      assertSilent(error);
      return true;
    });
  }
  await assert.rejects(verifyWebhook(undefined as never), TypeError);
});
