import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { EVENT_TYPES } from '../../src/events/event-types.ts';
import { type CommandLine, createCommandLineWithDatabase } from '../support/command-line.ts';
import { REDIRECT_URI } from '../support/fixtures.ts';
import { type Received, startWebhookReceiver } from '../support/webhook-receiver.ts';

const UNKNOWN_ID = '01a1dd0a-eb11-7000-997c-587fb8fee946';
const URL_ = 'https://hooks.example/';
const KEYS = { SECRET_KEYS: 'the-key-that-encrypts-these-secrets!' };

/** A new database with an app, and the options that name its endpoints. */
async function createAppWithEndpoints(known?: CommandLine) {
  const cli = known ?? (await createCommandLineWithDatabase());
  const typed = ['--platform', '--name', 'X', '--redirect-uri', REDIRECT_URI, '--scope', 'read:deals'];
  const { client_id: app } = await cli.json(['app', 'add', ...typed]);
  return {
    cli,
    app: String(app),
    add: (...more: string[]) =>
      cli.json(['endpoint', 'add', '--app', app, ...more], { env: { ...KEYS, WEBHOOKS_TO_LOOPBACK: 'yes' } }),
    onEndpoint: (verb: string, id: string, ...more: string[]) =>
      cli.json(['endpoint', verb, '--app', app, '--endpoint', id, ...more], { env: KEYS }),
  };
}

const { cli, app, add, onEndpoint } = await createAppWithEndpoints();
const { app: other } = await createAppWithEndpoints(cli);
const first = await add('--url', URL_);
const off = await add('--url', URL_);
await onEndpoint('disable', off.id);

test('endpoint add prints the endpoint and its signing secret; without --event it receives every event', async () => {
  const chosen = await add('--url', URL_, '--event', 'invoice.paid', '--event', 'grant.revoked');

  assert.match(first.id, /^[\w-]{36}$/);
  assert.match(first.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(first.url, URL_);
  assert.deepEqual(
    first.eventTypes,
    EVENT_TYPES.filter((type) => type !== 'endpoint.test'),
  );
  assert.deepEqual(chosen.eventTypes, ['grant.revoked', 'invoice.paid']);
  assert.notEqual(chosen.secret, first.secret);
});

test('with BUSINESS_API=off, endpoint add offers no events of resources', async () => {
  const env = { ...KEYS, BUSINESS_API: 'off' };
  const { eventTypes } = await cli.json(['endpoint', 'add', '--app', app, '--url', URL_], { env });
  const rejected = await cli.run(['endpoint', 'add', '--app', app, '--url', URL_, '--event', 'invoice.paid'], { env });

  assert.deepEqual(eventTypes, [
    'grant.created',
    'grant.transferred',
    'grant.narrowed',
    'grant.revoked',
    'grant.expiring',
    'app.secret_added',
    'app.secret_removed',
  ]);
  assert.match(rejected.stderr, /Unknown event: invoice\.paid\. Use one of: grant\.created/);
});

test('endpoint list prints the endpoints of one app, and no secret', async () => {
  const { endpoints } = await cli.json(['endpoint', 'list', '--app', app]);
  const others = await cli.json(['endpoint', 'list', '--app', other]);

  assert.ok(endpoints.some(({ id }: { id: string }) => id === first.id));
  assert.doesNotMatch(JSON.stringify(endpoints), /whsec_|"secret"/);
  assert.deepEqual(others, { endpoints: [] });
});

test('endpoint list shows all in the table for an endpoint that receives every event', async () => {
  const { app: own, add: addToOwn } = await createAppWithEndpoints(cli);
  const { id } = await addToOwn('--url', URL_);
  const { id: chosen } = await addToOwn('--url', URL_, '--event', 'grant.created');

  const { stdout } = await cli.run(['endpoint', 'list', '--app', own]);
  const rows = stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3));
  assert.deepEqual(rows[0], ['ID', 'URL', 'EVENT TYPES']);
  assert.deepEqual(
    rows.find(([first]) => first === id),
    [id, URL_, 'all'],
  );
  assert.deepEqual(
    rows.find(([first]) => first === chosen),
    [chosen, URL_, 'grant.created'],
  );
});

test('endpoint change changes the named fields only', async () => {
  const { id } = await add('--url', URL_, '--event', 'grant.created');

  const moved = await onEndpoint('change', id, '--url', 'https://moved.example/');
  const retuned = await onEndpoint('change', id, '--event', 'invoice.paid');

  assert.deepEqual([moved.url, moved.eventTypes], ['https://moved.example/', ['grant.created']]);
  assert.deepEqual([retuned.url, retuned.eventTypes], ['https://moved.example/', ['invoice.paid']]);
});

test('an endpoint can be disabled, enabled and removed', async () => {
  const { id } = await add('--url', URL_);

  const disabled = await onEndpoint('disable', id);
  const enabled = await onEndpoint('enable', id);
  const removed = await onEndpoint('remove', id);

  assert.equal(disabled.disabledReason, 'by_owner');
  assert.ok(Date.parse(disabled.disabledAt) > 0);
  assert.equal(enabled.disabledAt, null);
  assert.equal(removed.removed, true);
  assert.ok(!JSON.stringify(await cli.json(['endpoint', 'list', '--app', app])).includes(id));
});

test('a running server delivers to an endpoint that the command line added; the log shows it, and resend repeats it', async () => {
  const [receiver, { cli, add, onEndpoint }] = [await startWebhookReceiver(), await createAppWithEndpoints()];
  const server = await cli.serve({ ...KEYS, WEBHOOKS_TO_LOOPBACK: 'yes' });
  const { id, secret } = await add('--url', receiver.url, '--event', 'grant.created');

  const { eventId } = await onEndpoint('test', id);
  const [tested] = await receiver.waitFor(1);
  const replaced = await onEndpoint('replace-secret', id);
  const delivery = await waitForDelivery(() => onEndpoint('log', id));
  await onEndpoint('resend', id, '--delivery', delivery.id);
  const [, again] = await receiver.waitFor(2);
  await server.end('SIGTERM');

  assert.equal(tested?.headers['webhook-signature'], signed(tested, secret));
  assert.equal(tested?.headers['webhook-id'], eventId);
  assert.equal(tested?.event.data.endpointId, id);
  assert.equal(delivery.type, 'endpoint.test');
  assert.deepEqual([delivery.attempts[0].outcome, delivery.attempts[0].status], ['delivered', 200]);
  assert.ok(replaced.oldSecretUntil > replaced.createdAt);
  const both = `${signed(again, replaced.secret)} ${signed(again, secret)}`;
  assert.equal(again?.headers['webhook-signature'], both);
});

test('endpoint log of an endpoint without deliveries is empty', async () => {
  assert.deepEqual((await onEndpoint('log', first.id)).deliveries, []);
});

const ADD = ['endpoint', 'add', '--app', app];
const named = (verb: string, appId = app, id: string = first.id) =>
  ['endpoint', verb, '--app', appId, '--endpoint', id] as string[];

const changeOf = (verb: string) => (verb === 'change' ? ['--url', URL_] : []);

const REJECTED: [what: string, args: string[], sentence: RegExp][] = [
  ['an unknown app', ['endpoint', 'add', '--app', UNKNOWN_ID, '--url', URL_], /^--app: There is no such app/],
  ['an app id that is none', ['endpoint', 'list', '--app', 'x'], /^--app: There is no such app/],
  ['no address', ADD, /^--url is missing/],
  ['plain http', [...ADD, '--url', 'http://hooks.example/'], /^--url: An endpoint must start with https/],
  ['this very machine', [...ADD, '--url', 'http://localhost:3000/'], /^--url: .* WEBHOOKS_TO_LOOPBACK=yes/],
  [
    'a move to this very machine',
    [...named('change'), '--url', 'http://[::1]:3000/'],
    /^--url: .* WEBHOOKS_TO_LOOPBACK/,
  ],
  ['an unknown event', [...ADD, '--url', URL_, '--event', 'x.y'], /^--event: Unknown event: x\.y\. Use one of: grant/],
  [
    'a test event to listen for',
    [...ADD, '--url', URL_, '--event', 'endpoint.test'],
    /^--event: Unknown event: endpoint\.test\./,
  ],
  ['a changed address that is none', [...named('change'), '--url', 'x'], /^--url: This is not a complete URL/],
  ['a test of an endpoint that is off', named('test', app, off.id), /^--endpoint: The endpoint is switched off/],
  ['no delivery', named('resend'), /^--delivery is missing/],
  ['an unknown delivery', [...named('resend'), '--delivery', UNKNOWN_ID], /^--delivery: There is no such delivery/],
  ['a delivery id that is none', [...named('resend'), '--delivery', 'x'], /^--delivery: There is no such delivery/],
  ...['change', 'disable', 'enable', 'remove', 'replace-secret', 'test', 'log'].flatMap((verb): typeof REJECTED => [
    [
      `${verb} of an endpoint of another app`,
      [...named(verb, other), ...changeOf(verb)],
      /^--endpoint: There is no such endpoint/,
    ],
    [
      `${verb} of an endpoint id that is none`,
      [...named(verb, app, 'x'), ...changeOf(verb)],
      /^--endpoint: There is no such endpoint/,
    ],
  ]),
];

for (const [what, args, sentence] of REJECTED) {
  test(`${what} is rejected with one sentence`, async () => {
    const { status, stdout, stderr } = await cli.run(args, { env: KEYS });

    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.match(stderr, sentence);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  });
}

test('a signing secret is not encrypted with a key that a public server would reject', async () => {
  const { status, stderr } = await cli.run([...ADD, '--url', URL_], { env: { BASE_URL: 'https://auth.example' } });

  assert.equal(status, 1);
  assert.match(stderr, /^SECRET_KEYS must be set/);
});

function signed(received: Received | undefined, secret: string): string {
  assert.ok(received);
  const { 'webhook-id': id, 'webhook-timestamp': timestamp } = received.headers;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${received.body}`).digest('base64')}`;
}

/** The server records a delivery after the receiver has responded. */
async function waitForDelivery(poll: () => ReturnType<typeof onEndpoint>) {
  for (;;) {
    const { deliveries } = await poll();
    if (deliveries[0]?.deliveredAt) return deliveries[0];
  }
}
