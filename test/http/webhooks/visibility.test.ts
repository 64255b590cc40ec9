import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Updateable } from 'kysely';
import { findEvent, LISTED_AFTER, recordEvent } from '../../../src/events/events.ts';
import { listAppsWithScope, listBusinessesWithScope } from '../../../src/grants/apps-with-scope.ts';
import { endConnection } from '../../../src/grants/connections.ts';
import { findGrant } from '../../../src/grants/grants.ts';
import { newId } from '../../../src/lib/ids.ts';
import type { Tables } from '../../../src/storage/tables.ts';
import { canReceive, checkGuards } from '../../../src/webhooks/visibility.ts';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const db = () => server.storage().durable;
const bolt = await server.addBusiness('Bolt');
const [scope, other] = ['read:invoices', 'read:contacts'];

/** An app of Bolt's that Ada has connected to Acme. */
async function connectForeign() {
  const app = await server.addApp({ ownerBusinessId: bolt.id, openToAnyBusiness: true });
  await connect(app);
  const grant = await db().selectFrom('grants').selectAll().where('app_id', '=', app.id).executeTakeFirstOrThrow();
  return { app, grant };
}

async function connect(app: RegisteredApp, user = server.ada) {
  const code = await server.allow({ client_id: app.id, scope }, await server.signedIn(user));
  await server.exchange(code, { client_id: app.id, client_secret: app.secret });
}

const { app, grant } = await connectForeign();
const NOW = server.clock();
const membership = { user_id: server.ada.id, business_id: server.acme.id };

type Change = {
  [Table in 'apps' | 'users' | 'grants' | 'memberships']: [
    what: string,
    Table,
    where: object,
    to: Updateable<Tables[Table]>,
  ];
}['apps' | 'users' | 'grants' | 'memberships'];

/** Each way in which access to events ends. */
const ENDS: Change[] = [
  ['the app is disabled', 'apps', { id: app.id }, { disabled_at: NOW }],
  ['the app is paused', 'apps', { id: app.id }, { paused_at: NOW }],
  ['the app is deleted', 'apps', { id: app.id }, { deleted_at: NOW }],
  ['the app is closed to other businesses', 'apps', { id: app.id }, { open_to_any_business: 0 }],
  ['the app may not ask for it any more', 'apps', { id: app.id }, { allowed_scopes: other }],
  ['the user is disabled', 'users', { id: server.ada.id }, { disabled_at: NOW }],
  ['the membership is a later one', 'memberships', membership, { created_at: grant.created_at + 1 }],
  ['the user is no member', 'memberships', membership, { business_id: bolt.id }],
  ['the grant is revoked', 'grants', { id: grant.id }, { revoked_at: NOW, revoked_reason: 'revoked_by_app' }],
  ['the grant has expired', 'grants', { id: grant.id }, { refresh_expires_at: NOW }],
  ['the grant never had a token', 'grants', { id: grant.id }, { refresh_expires_at: null }],
  ['the time that the user chose is over', 'grants', { id: grant.id }, { expires_at: NOW }],
  ['the scope was withdrawn', 'grants', { id: grant.id }, { withdrawn_scopes: scope }],
  ['the grant is for something else', 'grants', { id: grant.id }, { scopes: other }],
];

const listApps = async (now = server.clock()) => {
  const page = { businessId: server.acme.id, scope, after: undefined, limit: 100 };
  return (await listAppsWithScope(db(), page, now)).apps;
};

const isAllowed = async () => {
  const query = { appId: app.id, businessIds: [server.acme.id, bolt.id], scope };
  const [apps, businesses] = [await listApps(NOW), await listBusinessesWithScope(db(), query, NOW)];
  assert.equal(businesses.includes(server.acme.id), apps.includes(app.id), 'both queries agree');
  assert.ok(!businesses.includes(bolt.id));
  return apps.includes(app.id);
};

/** Whether a token of the app would work. */
const isTokenValid = async () => {
  const found = await findGrant(db(), { grantId: grant.id, rotation: grant.rotation }, NOW);
  const row = await db().selectFrom('grants').selectAll().where('id', '=', grant.id).executeTakeFirstOrThrow();
  const isOpen = (row.refresh_expires_at ?? 0) > NOW;
  return isOpen && !found?.inactiveReason && (found?.scopes.includes(scope) ?? false);
};

for (const [what, table, where, to] of ENDS) {
  test(`an app receives no events of a business when ${what}, and does again when that is undone`, async () => {
    const change = async (from: object, values: object) => {
      let update = db()
        .updateTable(table)
        .set(values as never);
      for (const [column, value] of Object.entries(from)) update = update.where(column as never, '=', value as never);
      assert.equal((await update.executeTakeFirstOrThrow()).numUpdatedRows, 1n);
    };
    let query = db().selectFrom(table).selectAll();
    for (const [column, value] of Object.entries(where)) query = query.where(column as never, '=', value as never);
    const before = await query.executeTakeFirstOrThrow();
    assert.ok((await isAllowed()) && (await isTokenValid()));

    await change(where, to);
    const responses = [await isAllowed(), await isTokenValid()];
    const changed = Object.fromEntries(Object.keys(where).map((key) => [key, { ...before, ...to }[key as never]]));
    await change(changed, Object.fromEntries(Object.keys(to).map((key) => [key, before[key as never]])));

    assert.deepEqual(responses, [false, false]);
    assert.ok((await isAllowed()) && (await isTokenValid()));
  });
}

test('one active grant is enough, whatever the status of the others', async () => {
  const eve = await server.addUser('Eve', [[server.acme, 'member']]);
  const { app } = await connectForeign();
  await connect(app, eve);
  const parties = { userId: server.ada.id, appId: app.id, businessId: server.acme.id };
  const hears = async () => (await listApps()).includes(app.id);

  await endConnection(db(), parties, 'disconnected_by_user', server.clock());
  assert.ok(await hears());
  await endConnection(db(), { ...parties, userId: eve.id }, 'disconnected_by_user', server.clock());
  assert.ok(!(await hears()));
});

test('in a page of events an app sees those of businesses that it may read, and those of no business', async () => {
  const { app } = await connectForeign();
  const cafe = await server.addBusiness('Cafe');
  const bob = await server.addUser('Bob', [[cafe, 'owner']]);
  await connect(app, bob);
  for (const [business, number] of [
    [server.acme, 'A-1'],
    [cafe, 'C-1'],
    [cafe, 'C-2'],
  ] as const) {
    await server.addInvoice(business, { number });
  }
  const read = async () => {
    await server.spreadHappenings();
    server.advanceClock(LISTED_AFTER);
    const authorization = `Basic ${Buffer.from(`${app.id}:${app.secret}`).toString('base64')}`;
    const { body } = await server.get('/api/v1/events', { authorization });
    return body.map(({ type, data }: { type: string; data: { number?: string } }) => data.number ?? type);
  };

  const all = await read();
  const parties = { userId: bob.id, appId: app.id, businessId: cafe.id };
  await endConnection(db(), parties, 'disconnected_by_user', server.clock());

  assert.deepEqual(all.slice(-3), ['A-1', 'C-1', 'C-2']);
  assert.deepEqual((await read()).slice(-2), ['A-1', 'grant.revoked']);
});

/** Rows that only a newer version on another node could write. */
for (const [what, type, businessId] of [
  ['of an undeclared type', 'expense.created', server.acme.id],
  ['that a scope guards but that names no business', 'invoice.created', '00000000-0000-0000-0000-000000000000'],
] as const) {
  test(`an event ${what} is neither listed nor delivered`, async () => {
    const reader = await server.addApp({ ownerBusinessId: server.acme.id });
    await connect(reader);
    const id = newId(server.clock());
    const row = { id, type, app_id: reader.id, business_id: businessId, data: '{}', created_at: server.clock() };
    await db().insertInto('events').values(row).execute();

    server.advanceClock(LISTED_AFTER);
    const authorization = `Basic ${Buffer.from(`${reader.id}:${reader.secret}`).toString('base64')}`;
    const { body } = await server.get('/api/v1/events', { authorization });
    const event = await findEvent(db(), id);

    assert.deepEqual(
      body.map((listed: { type: string }) => listed.type),
      ['app.secret_added', 'grant.created'],
    );
    assert.ok(event && !(await canReceive(db(), event, server.clock())));
  });
}

test('the server does not start with an event type without a guard, or with an unknown scope as its guard', () => {
  assert.throws(() => checkGuards({ 'payroll.created': undefined }), /payroll\.created declares no guard/);
  assert.throws(() => checkGuards({ 'payroll.created': { scope: 'read:expense' } }), /unknown scope read:expense/);
  checkGuards({ 'payroll.created': { scope: 'read:expenses' }, 'app.renamed': 'app' });
});

test('an event of an undeclared type cannot be recorded', async () => {
  const event = { type: 'payroll.created' as 'invoice.created', appId: app.id, businessId: server.acme.id, data: {} };

  await assert.rejects(recordEvent(db(), event, server.clock()), /payroll\.created is not declared/);
});
