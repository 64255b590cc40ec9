import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { User } from '../../../src/accounts/users.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import { createClient } from '../../support/client.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const SCOPE = 'read:contacts write:contacts';
const SCOPES = SCOPE.split(' ');
let count = 0;

/** Ada has connected a new app for her business, and Bob owns the business, too. */
async function newWorld() {
  const number = ++count;
  const bob = await server.addUser(`Bob ${number}`, [[server.acme, 'owner']]);
  const app = await server.addApp({ name: `Biller ${number}`, ownerBusinessId: server.acme.id, scopes: SCOPES });
  const client = createClient({ ...server, user: server.ada, app, business: server.acme });
  const connect = async (user: User) => {
    const browser = await server.signedIn(user);
    const page = await browser.open(client.authorizeUrl({ scope: SCOPE }));
    const allowed = await browser.submit(page, '/consent', { decision: 'allow', connected_for: 'business' });
    const { access_token } = (await client.exchange(allowed.leftTo?.searchParams.get('code') ?? '')).body;
    server.advanceClock(10 * MINUTE);
    return access_token;
  };
  const token = await connect(server.ada);
  const path = `/settings/connected-apps/${app.id}`;
  /** An owner takes the connection over. */
  const take = async (from: User, to: User) => {
    const browser = await server.signedIn(to);
    const page = await browser.open(`${path}/${from.id}/authority`);
    const done = await browser.submit(page, `${path}/${from.id}/authority`, { to: to.id });
    assert.match(done.url, /authority_changed/);
  };
  return { bob, token, take, connect };
}

/** Creates a contact. Returns its id, and whether the response is of an earlier request. */
async function post(token: string, key: string, name = 'Paid twice Ltd') {
  const headers = { authorization: `Bearer ${token}`, 'x-business-id': server.acme.id, 'idempotency-key': key };
  const response = await server.sendJson('POST', '/api/v1/crm/contacts', { name }, headers);
  const isReplayed = response.headers.get('idempotency-replayed') === 'true';
  return { status: response.status, id: response.body.id, isReplayed };
}

test('a request that is sent again after its connection has moved gets the same response, and writes nothing', async () => {
  const { bob, token, take } = await newWorld();
  const first = await post(token, 'pay-1');

  await take(server.ada, bob);
  const afterwards = await post(token, 'pay-1');
  await take(bob, server.ada);
  const back = await post(token, 'pay-1');

  assert.deepEqual([first.status, first.isReplayed], [201, false]);
  for (const again of [afterwards, back]) assert.deepEqual(again, { ...first, isReplayed: true });
});

test('a key that is used after the move is replayed after the next one, and never with another request', async () => {
  const { bob, token, take } = await newWorld();
  const cyd = await server.addUser(`Cyd ${count}`, [[server.acme, 'owner']]);
  await take(server.ada, bob);
  const first = await post(token, 'pay-2');

  await take(bob, cyd);
  const again = await post(token, 'pay-2');
  const other = await post(token, 'pay-2', 'Somebody else');

  assert.deepEqual(again, { ...first, isReplayed: true });
  assert.equal(other.status, 422);
});

test('what the new owner has connected keeps its own keys', async () => {
  const { bob, token, take, connect } = await newWorld();
  const own = await connect(bob);
  const [first, ofBob] = [await post(token, 'pay-3'), await post(own, 'pay-3')];

  await take(server.ada, bob);
  const [again, ofBobAgain] = [await post(token, 'pay-3'), await post(own, 'pay-3')];

  assert.notEqual(ofBob.id, first.id);
  assert.deepEqual(again, { ...first, isReplayed: true });
  assert.deepEqual(ofBobAgain, { ...ofBob, isReplayed: true });
});
