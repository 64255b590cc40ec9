import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApp, ERROR_CODES, EVENT_TYPES, type GatehouseEvent, SCOPES } from '../../../sdk/typescript/src/index.ts';
import { EVENT_TYPES as SERVER_EVENT_TYPES } from '../../../src/events/event-types.ts';
import { LISTED_AFTER } from '../../../src/events/events.ts';
import { REASONS } from '../../../src/http/errors.ts';
import { SCOPES as SERVER_SCOPES } from '../../../src/oauth/scopes.ts';
import { REDIRECT_URI } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';
import { passThrough, recordFetch } from './connected.ts';
import { send, startFaultyServer } from './faulty-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const registered = await server.addApp({ ownerBusinessId: server.acme.id, scopes: ['read:invoices'] });
for (let i = 0; i < 5; i += 1) {
  server.advanceClock(1);
  const code = await server.allow({ client_id: registered.id, scope: 'read:invoices', state: `${i}` }, browser);
  await server.exchange(code, { client_id: registered.id, client_secret: registered.secret });
}
await server.addInvoice(server.acme, { number: 'INV-1', total: '12.50', currency: 'GBP', status: 'SENT' });
await server.spreadHappenings();
server.advanceClock(LISTED_AFTER);

function newApp() {
  const { requests, fetch } = recordFetch(passThrough);
  const { id: clientId, secret: clientSecret } = registered;
  return {
    requests,
    app: createApp({ baseUrl: server.api, clientId, clientSecret, redirectUri: REDIRECT_URI, fetch }),
  };
}

test('events() reads every event of the app once, oldest first, across pages of any size', async () => {
  const { app: unlimited } = newApp();
  const whole = await Array.fromAsync(unlimited.events());
  assert.deepEqual(
    whole.map(({ type }) => type),
    ['app.secret_added', ...Array(5).fill('grant.created'), 'invoice.created'],
  );

  const { app, requests } = newApp();
  assert.deepEqual(await Array.fromAsync(app.events({ pageSize: 3 })), whole);
  assert.equal(requests.length, 3);
});

test('events({ after }) continues after the last event that the app has', async () => {
  const { app } = newApp();
  const whole = await Array.fromAsync(app.events());

  const rest = await Array.fromAsync(app.events({ after: whole[3]?.id, pageSize: 2 }));
  const none = await Array.fromAsync(app.events({ after: whole.at(-1)?.id }));

  assert.deepEqual(rest, whole.slice(4));
  assert.deepEqual(none, []);
});

test('eventPage gives one page, and the cursor of the next one', async () => {
  const { app } = newApp();
  const whole = await Array.fromAsync(app.events());

  const first = await app.eventPage({ limit: 4 });
  const second = await app.eventPage({ limit: 4, cursor: first.nextCursor });

  assert.deepEqual([...first.events, ...second.events], whole);
  assert.equal(second.nextCursor, undefined);
});

test('the type of an event determines the type of its data', async () => {
  const { app } = newApp();
  const described: string[] = [];
  for await (const event of app.events()) described.push(describe(event));

  assert.ok(described.includes('INV-1 is SENT, 12.50 GBP'), described.join());
  assert.ok(described.includes(`${server.ada.id} allowed read:invoices`), described.join());
});

/** Compiles only if each branch has the right type of data. */
function describe(event: GatehouseEvent): string {
  switch (event.type) {
    case 'invoice.created':
    case 'invoice.updated':
    case 'invoice.sent':
    case 'invoice.paid':
    case 'invoice.voided': {
      const { number, status, total, currency } = event.data;
      return `${number} is ${status}, ${total} ${currency}`;
    }
    case 'grant.created':
      return `${event.data.userId} allowed ${event.data.scopes.join(' ')}`;
    case 'grant.transferred':
      return event.data.previousUserId;
    case 'grant.narrowed':
      return `${event.data.withdrawnScopes.join(' ')} withdrawn, ${event.data.scopes.join(' ')} left`;
    case 'grant.revoked':
      return event.data.reason.toUpperCase();
    case 'grant.expiring':
      return event.data.expiresAt.slice(0, 10);
    case 'app.secret_added':
    case 'app.secret_removed':
      return event.data.secretId;
    case 'endpoint.test':
      return event.data.endpointId;
    case 'contact.created':
    case 'contact.updated':
    case 'company.created':
    case 'company.updated':
    case 'employee.created':
    case 'employee.updated':
      return `${event.data.name} is ${event.data.status}`;
    case 'deal.created':
    case 'deal.updated':
    case 'deal.won':
    case 'deal.lost':
      return `${event.data.title} is ${event.data.stage}`;
    case 'expense.created':
    case 'expense.updated':
      return `${event.data.description} is ${event.data.status}`;
    case 'expense_category.created':
    case 'expense_category.updated':
      return event.data.name;
    case 'order.created':
    case 'order.updated':
      return `${event.data.number} is ${event.data.fulfilmentStatus}`;
    default:
      return event satisfies never;
  }
}

test('an event of an unknown type is returned, too', async () => {
  const event = { id: 'e1', type: 'order.shipped', timestamp: '2030-01-01T00:00:00.000Z', data: { orderId: 'o1' } };
  const faultyServer = await startFaultyServer(send(200, [event]));

  const [read] = await Array.fromAsync(faultyServer.app().events());

  assert.deepEqual(read, event);
});

test('a response that is not a page of events is invalid_response, and so are pages that form a cycle', async () => {
  const sound = { id: 'e1', type: 'endpoint.test', timestamp: '2030-01-01T00:00:00.000Z', data: {} };
  for (const body of [{}, [{ ...sound, id: 1 }], [{ ...sound, timestamp: 'yesterday' }], [{ ...sound, data: [] }]]) {
    const faultyServer = await startFaultyServer(send(200, body));
    await assert.rejects(Array.fromAsync(faultyServer.app().events()), { code: 'invalid_response' });
  }

  const link = '</api/v1/events?cursor=e1>; rel="next"';
  const circle = await startFaultyServer(send(200, [sound], { link }));
  await assert.rejects(Array.fromAsync(circle.app().events()), { code: 'invalid_response' });
  assert.equal(circle.requests.length, 2);
});

test('the credentials go into the header, encoded as in RFC 6749 section 2.3.1', async () => {
  const faultyServer = await startFaultyServer(send(200, []));

  await Array.fromAsync(faultyServer.app({ clientId: 'a:b', clientSecret: 'ü%' }).events());

  const [request] = faultyServer.requests;
  assert.equal(request?.headers.authorization, `Basic ${btoa('a%3Ab:%C3%BC%25')}`);
});

test('the names of scopes, errors and events are those of the server', () => {
  assert.deepEqual(
    SCOPES,
    SERVER_SCOPES.map(({ name }) => name),
  );
  assert.deepEqual(EVENT_TYPES, SERVER_EVENT_TYPES);
  for (const code of Object.keys(REASONS))
    assert.ok(
      ERROR_CODES.some((known) => known === code),
      code,
    );
});
