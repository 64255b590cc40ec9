import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE } from '../../../src/lib/clock.ts';
import { startTestServer } from '../../support/test-server.ts';
import { registerByInvitation } from '../../support/unverified.ts';

const ME = '/api/v1/me';
const server = await startTestServer();
const browser = await server.signedIn();
const readMe = (token: string) => server.get(ME, { authorization: `Bearer ${token}` });

test('GET /api/v1/me returns the user, business, app, scopes and time of the grant', async () => {
  const allowedAt = server.clock();
  const { access_token } = await server.connect({ scope: 'read:invoices read:contacts' }, browser);
  server.advanceClock(MINUTE);

  const { status, headers, body } = await readMe(access_token);

  assert.equal(status, 200);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.deepEqual(body, {
    user: { id: server.ada.id, name: 'Ada', email: 'ada@example.com', emailVerified: true },
    business: { id: server.acme.id, name: 'Acme' },
    app: { id: server.ledger.id, name: 'Ledger' },
    scopes: ['read:invoices', 'read:contacts'],
    connectedFor: 'user',
    grantedAt: new Date(allowedAt).toISOString(),
  });
});

test('GET /api/v1/me reports an unverified email address as unverified [E2]', async () => {
  const guest = { owner: browser, name: 'Guest', email: 'guest@example.net' };
  const { access_token } = await server.connect({}, (await registerByInvitation(server, guest)).browser);

  const { body } = await readMe(access_token);

  assert.deepEqual([body.user.email, body.user.emailVerified], ['guest@example.net', false]);
});

test('GET /api/v1/me needs no particular scope and no x-business-id', async () => {
  const { access_token } = await server.connect({ scope: 'write:invoices' }, browser);
  assert.equal((await readMe(access_token)).status, 200);
});

test('GET /api/v1/me returns the scopes of this token, which a refresh may have narrowed', async () => {
  const { refresh_token } = await server.connect({ scope: 'read:invoices read:contacts' }, browser);
  const narrowed = await server.refresh(refresh_token, { scope: 'read:contacts' });

  assert.deepEqual((await readMe(narrowed.body.access_token)).body.scopes, ['read:contacts']);
});

test('GET /api/v1/me returns the business of the grant, not the user’s current business', async () => {
  const beta = await server.addBusiness('Beta');
  const grace = await server.addUser('Grace', [[server.acme, 'member']]);
  const { access_token } = await server.connect({}, await server.signedIn(grace));
  await server.addMember(grace, beta);

  const { body } = await readMe(access_token);

  assert.deepEqual([body.user.id, body.user.email, body.business.id], [grace.id, 'grace@example.com', server.acme.id]);
});

test('the consent screen says that the app will see the user’s name and email address', async () => {
  const newcomer = await server.signedIn(await server.addUser('Nora', [[server.acme, 'member']]));

  const page = await newcomer.open(server.authorizeUrl());

  assert.match(page.text, /Your profile[\s\S]*?Name and email address/);
});
