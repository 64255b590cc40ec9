import assert from 'node:assert/strict';
import { test } from 'node:test';

import { type User, userActor } from '../../src/accounts/users.ts';
import type { Actor } from '../../src/audit/entries.ts';
import { blockApp, type Decision, decideRequest } from '../../src/grants/app-approvals.ts';
import { requestApproval } from '../../src/grants/app-requests.ts';
import { changeRole, removeMember } from '../../src/grants/member-changes.ts';
import type { Database } from '../../src/storage/storage.ts';
import { untilLockWait } from '../support/lock-waits.ts';
import { startPostgresFixtures } from '../support/postgres-fixtures.ts';

const { storage, ada, acme, addUser, addApp } = await startPostgresFixtures();
const owner = userActor(ada, '127.0.0.1');
const scopes = ['read:invoices'];
let users = 0;

type Work = (db: Database) => Promise<unknown>;

/** An app that a member has requested, and the possible next steps. */
async function createRequest() {
  const app = await addApp({ ownerBusinessId: acme.id });
  const member = await addUser(`Member${++users}`, [[acme, 'member']]);
  await requestApproval(
    userActor(member, '127.0.0.1'),
    storage.durable,
    { app, businessId: acme.id, scopes, note: '' },
    Date.now(),
  );
  const key = { businessId: acme.id, appId: app.id, userId: member.id };
  const decide =
    (decision: Decision, actor: Actor = owner): Work =>
    (db) =>
      decideRequest(actor, db, { ...key, businessName: 'Acme', decision, reason: '', scopes }, Date.now());
  const block: Work = (db) => blockApp(owner, db, { app, businessId: acme.id, reason: '' }, Date.now());
  const remove: Work = (db) => removeMember(owner, db, { userId: member.id, businessId: acme.id }, Date.now());
  const read = async () => {
    const requests = storage.durable.selectFrom('app_requests').select('status').where('app_id', '=', app.id);
    const decisions = storage.durable.selectFrom('app_approvals').select('status').where('app_id', '=', app.id);
    const entries = storage.durable.selectFrom('audit_entries').select('action').where('subject_id', '=', app.id);
    return {
      requests: (await requests.execute()).map(({ status }) => status),
      decisions: (await decisions.execute()).map(({ status }) => status),
      actions: (await entries.orderBy('id').execute()).map(({ action }) => action),
    };
  };
  return { decide, block, remove, read };
}

/** Starts `second` while `first` is not committed, and returns both results. */
async function race(first: Work, second: Work): Promise<[unknown, unknown]> {
  let late: Promise<unknown> | undefined;
  const early = await storage.transaction(async (tx) => {
    const result = await first(tx);
    late = second(storage.durable).catch((error: Error) => error.message);
    await untilLockWait(storage);
    return result;
  });
  return [early, await late];
}

for (const decision of ['approve_person', 'approve_all'] as const) {
  test(`${decision} waits for a block that is being committed, and approves nothing [C10] [C11]`, async () => {
    const { decide, block, read } = await createRequest();

    const results = await race(block, decide(decision));

    assert.deepEqual(results, [true, false]);
    assert.deepEqual(await read(), {
      requests: [],
      decisions: ['blocked'],
      actions: ['grant.approval_requested', 'grant.app_blocked'],
    });
  });

  test(`a block that waits for ${decision} ends what was approved [C10] [C11]`, async () => {
    const { decide, block, read } = await createRequest();

    const results = await race(decide(decision), block);
    const { requests, decisions } = await read();

    assert.deepEqual(results, [true, true]);
    assert.deepEqual([requests, decisions], [[], ['blocked']]);
  });
}

test('an approval waits while the member is removed, and approves nothing [C10]', async () => {
  const { decide, remove, read } = await createRequest();

  const results = await race(remove, decide('approve_person'));

  assert.deepEqual(results, [true, false]);
  assert.deepEqual(await read(), { requests: [], decisions: [], actions: ['grant.approval_requested'] });
});

test('the removal of a member waits for an approval, and ends it [C10]', async () => {
  const { decide, remove, read } = await createRequest();

  const results = await race(decide('approve_person'), remove);

  assert.deepEqual(results, [true, true]);
  assert.deepEqual((await read()).requests, []);
});

test('an owner who is being made an admin or a member approves nothing [C10]', async () => {
  for (const role of ['admin', 'member']) {
    const former: User = await addUser(`Former${role}`, [[acme, 'owner']]);
    const { decide, read } = await createRequest();
    const demote: Work = (db) => changeRole(owner, db, { userId: former.id, businessId: acme.id, role }, Date.now());

    const results = await race(demote, decide('approve_all', userActor(former, '127.0.0.1')));

    assert.deepEqual(results, [true, false], role);
    assert.deepEqual(await read(), { requests: ['requested'], decisions: [], actions: ['grant.approval_requested'] });
  }
});

test('of two owners who decide about one request at the same time, one does [C10]', async () => {
  const other = await addUser('Other', [[acme, 'owner']]);
  const { decide, read } = await createRequest();

  const results = await race(decide('refuse'), decide('approve_person', userActor(other, '127.0.0.1')));

  assert.deepEqual(results, [true, false]);
  assert.deepEqual((await read()).requests, ['refused']);
});
