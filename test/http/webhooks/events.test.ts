import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteMembership } from '../../../src/accounts/memberships.ts';
import { findApp } from '../../../src/apps/apps.ts';
import { addSecret, listSecrets, removeSecret } from '../../../src/apps/secrets.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { setInvoiceStatus } from '../../../src/business/invoices.ts';
import { LISTED_AFTER } from '../../../src/events/events.ts';
import { endConnection } from '../../../src/grants/connections.ts';
import { warnOfExpiring } from '../../../src/grants/expiry.ts';
import { requestFollowUp } from '../../../src/grants/follow-ups.ts';
import { disableApp, disableUser } from '../../../src/grants/suspension.ts';
import { DAY } from '../../../src/lib/clock.ts';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const atomically = <Result>(work: Parameters<ReturnType<typeof server.storage>['transaction']>[0]) =>
  server.storage().transaction(work) as Promise<Result>;

const newApp = (scopes = ['read:invoices', 'read:contacts']) =>
  server.addApp({ ownerBusinessId: server.acme.id, scopes });

async function connect(app: RegisteredApp, scope = 'read:invoices') {
  const code = await server.allow({ client_id: app.id, scope }, browser);
  return (await server.exchange(code, { client_id: app.id, client_secret: app.secret })).body;
}

/** Lists the events of an app with its credentials, by HTTP Basic. */
async function read(app: RegisteredApp, query = '', secret = app.secret) {
  await server.spreadHappenings();
  server.advanceClock(LISTED_AFTER);
  const authorization = `Basic ${Buffer.from(`${app.id}:${secret}`).toString('base64')}`;
  return server.get(`/api/v1/events${query}`, { authorization });
}

interface ListedEvent {
  type: string;
  data: Record<string, string>;
}

const listEvents = async (app: RegisteredApp): Promise<ListedEvent[]> => (await read(app)).body;
const typesOf = async (app: RegisteredApp) => (await listEvents(app)).map(({ type }) => type);

test('an app lists its events, oldest first, in pages that the Link header connects', async () => {
  const app = await newApp();
  for (let i = 0; i < 5; i++) await server.allow({ client_id: app.id, scope: 'read:invoices', state: `${i}` }, browser);

  const whole = await read(app);
  const first = await read(app, '?limit=4');
  const [, next = ''] = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '') ?? [];
  const second = await read(app, new URL(next).search);

  assert.equal(whole.headers.get('link'), null);
  assert.deepEqual([...first.body, ...second.body], whole.body);
  assert.deepEqual(await typesOf(app), ['app.secret_added', ...Array(5).fill('grant.created')]);
  assert.deepEqual(Object.keys(whole.body[1]), ['id', 'type', 'timestamp', 'data']);
});

test('the events of an app cannot be read without its credentials', async () => {
  const app = await newApp();

  assert.equal((await read(app, '', 'wrong')).status, 401);
  assert.equal((await server.get('/api/v1/events')).status, 401);
  for (const query of ['?limit=0', '?limit=201', '?cursor=x', '?limit=1&limit=2']) {
    assert.equal((await read(app, query)).status, 400, query);
  }
});

test('events without credentials are a 401 that asks for HTTP Basic, and for nothing in a body', async () => {
  const { status, headers, body } = await server.get('/api/v1/events');

  assert.deepEqual([status, body.error, body.reason], [401, 'invalid_client', 'credentials_missing']);
  assert.equal(headers.get('www-authenticate'), 'Basic realm="Gatehouse"');
  assert.doesNotMatch(body.error_description, /body/);
});

test('events of a public app are a 401 without advice about a body', async () => {
  const app = await server.addApp({ ownerBusinessId: server.acme.id, isPublic: true });
  const { status, body } = await read({ ...app, secret: 'x' });

  assert.deepEqual([status, body.reason], [401, 'app_is_public']);
  assert.doesNotMatch(body.error_description, /body/);
});

test('an app receives invoice events only with read:invoices, and only of businesses that have connected it', async () => {
  const [reader, other, stranger] = [await newApp(), await newApp(), await newApp()];
  await connect(reader);
  await connect(other, 'read:contacts');

  const { id: invoiceId } = await server.addInvoice(server.acme, { number: 'E-1', total: '12.00' });

  const received = (await listEvents(reader)).filter(({ type }) => type.startsWith('invoice.'));
  assert.deepEqual(
    received.map(({ type, data }) => ({ type, data })),
    [
      {
        type: 'invoice.created',
        data: { businessId: server.acme.id, invoiceId, number: 'E-1', status: 'SENT', total: '12.00', currency: 'GBP' },
      },
    ],
  );
  for (const app of [other, stranger]) {
    assert.ok((await typesOf(app)).every((type) => !type.startsWith('invoice.')));
  }
});

test('every change of an invoice sends invoice.updated, and the event of its new status follows', async () => {
  const app = await newApp();
  await connect(app);
  await server.addInvoice(server.acme, { number: 'E-3' });

  for (const status of ['OVERDUE', 'VOID', 'PAID', 'PAID']) {
    await atomically((db) =>
      setInvoiceStatus(db, { businessId: server.acme.id, number: 'E-3', status }, server.clock()),
    );
  }

  const received = (await listEvents(app)).filter(({ data }) => data.number === 'E-3');
  assert.deepEqual(
    received.map(({ type, data }) => [type, data.status]),
    [
      ['invoice.created', 'SENT'],
      ['invoice.updated', 'OVERDUE'],
      ['invoice.updated', 'VOID'],
      ['invoice.voided', 'VOID'],
      ['invoice.updated', 'PAID'],
      ['invoice.paid', 'PAID'],
    ],
  );
});

test('once disconnected, an app can no longer read the events of a business, except for the disconnection', async () => {
  const app = await newApp();
  await connect(app);
  await server.addInvoice(server.acme, { number: 'E-2' });
  assert.ok((await typesOf(app)).includes('invoice.created'));

  const parties = { userId: server.ada.id, appId: app.id, businessId: server.acme.id };
  await endConnection(server.storage().durable, parties, 'disconnected_by_user', server.clock());

  const types = await typesOf(app);
  assert.ok(!types.includes('invoice.created'));
  assert.equal((await listEvents(app)).at(-1)?.data.reason, 'disconnected_by_user');
});

test('events about secrets contain their ids, never the secrets', async () => {
  const app = await newApp();
  const secret = await atomically<string>((db) => addSecret(OPERATOR, db, app, server.clock()));
  const [first] = await listSecrets(server.storage().durable, app.id);
  await atomically((db) => removeSecret(OPERATOR, db, { app, secretId: first?.id ?? '' }, server.clock()));

  const events = (await read(app, '', secret)).body;
  assert.deepEqual(
    events.map(({ type }: ListedEvent) => type),
    ['app.secret_added', 'app.secret_added', 'app.secret_removed'],
  );
  assert.ok(!JSON.stringify(events).includes(secret));
});

test('the grants of a member who leaves end, and the app receives the reason', async () => {
  const app = await newApp();
  const leaver = await server.addUser('Lena', [[server.acme, 'member']]);
  const credentials = { client_id: app.id, client_secret: app.secret };
  const code = await server.allow({ client_id: app.id, scope: 'read:invoices' }, await server.signedIn(leaver));
  const tokens = (await server.exchange(code, credentials)).body;
  const member = { userId: leaver.id, businessId: server.acme.id };
  await atomically(async (db) => {
    await deleteMembership(db, member.userId, member.businessId);
    await requestFollowUp(db, { kind: 'end', ...member, reason: 'member_removed' }, server.clock());
  });
  await server.finishFollowUps();

  const last = (await listEvents(app)).at(-1);
  assert.deepEqual([last?.type, last?.data.reason], ['grant.revoked', 'member_removed']);
  const rejected = await server.refresh(tokens.refresh_token, { client_id: app.id, client_secret: app.secret });
  assert.equal(rejected.body.reason, 'member_removed');
});

test('if an app is paused or a user disabled, the app receives one event for each affected grant', async () => {
  const [app, other] = [await newApp(), await newApp()];
  const user = await server.addUser('Paula', [[server.acme, 'member']]);
  for (const each of [app, other]) {
    const code = await server.allow({ client_id: each.id, scope: 'read:invoices' }, await server.signedIn(user));
    await server.exchange(code, { client_id: each.id, client_secret: each.secret });
  }
  const reasons = async (each: RegisteredApp) =>
    (await listEvents(each)).flatMap(({ type, data }) => (type === 'grant.revoked' ? [data.reason] : []));

  for (let i = 0; i < 2; i++) {
    const found = await findApp(server.storage().durable, app.id);
    assert.ok(found);
    await atomically((db) => disableApp(OPERATOR, db, found, server.clock()));
    await server.finishFollowUps();
  }
  await disableUser(OPERATOR, server.storage().durable, { user }, server.clock());
  await server.finishFollowUps();

  assert.deepEqual(await reasons(other), ['user_disabled']);
  assert.deepEqual(await reasons(app), ['app_disabled', 'user_disabled']);
});

test('three days before an unused grant expires its app receives one event; a refresh resets this', async () => {
  const app = await newApp();
  const { refresh_token } = await connect(app);
  const warn = () => atomically<number>((db) => warnOfExpiring(db, 100, server.clock()));
  const warnings = async () => (await typesOf(app)).filter((type) => type === 'grant.expiring').length;

  server.advanceClock(26 * DAY);
  await warn();
  assert.equal(await warnings(), 0);
  server.advanceClock(DAY);
  await warn();
  await warn();
  assert.equal(await warnings(), 1);
  const renewed = await server.refresh(refresh_token, { client_id: app.id, client_secret: app.secret });
  assert.equal(renewed.status, 200);
  await warn();
  assert.equal(await warnings(), 1);
  server.advanceClock(27 * DAY);
  await warn();
  // The first warning is a month old, and is still stored.
  assert.equal(await warnings(), 2);
});
