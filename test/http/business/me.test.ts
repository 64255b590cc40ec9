import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE } from '../../../src/lib/clock.ts';
import { registerByInvitation } from '../../support/unverified.ts';
import { newWorld } from '../../support/world.ts';

const ME = '/api/v1/me';
const world = await newWorld();
const browser = await world.signedIn();
const readMe = (token: string) => world.get(ME, { authorization: `Bearer ${token}` });

test('GET /api/v1/me returns the user, business, app, scopes and time of the grant', async () => {
  const allowedAt = world.clock();
  const { access_token } = await world.connect({ scope: 'read:invoices read:contacts' }, browser);
  world.wind(MINUTE);

  const { status, headers, body } = await readMe(access_token);

  assert.equal(status, 200);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.deepEqual(body, {
    user: { id: world.ada.id, name: 'Ada', email: 'ada@example.com', emailVerified: true },
    business: { id: world.acme.id, name: 'Acme' },
    app: { id: world.ledger.id, name: 'Ledger' },
    scopes: ['read:invoices', 'read:contacts'],
    grantedAt: new Date(allowedAt).toISOString(),
  });
});

test('GET /api/v1/me reports an unverified email address as unverified [E2]', async () => {
  const guest = { owner: browser, name: 'Guest', email: 'guest@example.net' };
  const { access_token } = await world.connect({}, (await registerByInvitation(world, guest)).browser);

  const { body } = await readMe(access_token);

  assert.deepEqual([body.user.email, body.user.emailVerified], ['guest@example.net', false]);
});

test('GET /api/v1/me needs no particular scope and no x-business-id', async () => {
  const { access_token } = await world.connect({ scope: 'write:invoices' }, browser);
  assert.equal((await readMe(access_token)).status, 200);
});

test('GET /api/v1/me returns the scopes of this token, which a refresh may have narrowed', async () => {
  const { refresh_token } = await world.connect({ scope: 'read:invoices read:contacts' }, browser);
  const narrowed = await world.refresh(refresh_token, { scope: 'read:contacts' });

  assert.deepEqual((await readMe(narrowed.body.access_token)).body.scopes, ['read:contacts']);
});

test('GET /api/v1/me returns the business of the grant, not the user’s current business', async () => {
  const beta = await world.addBusiness('Beta');
  const grace = await world.addUser('Grace', [[world.acme, 'member']]);
  const { access_token } = await world.connect({}, await world.signedIn(grace));
  await world.addMember(grace, beta);

  const { body } = await readMe(access_token);

  assert.deepEqual([body.user.id, body.user.email, body.business.id], [grace.id, 'grace@example.com', world.acme.id]);
});

test('the consent screen says that the app will see the user’s name and email address', async () => {
  const newcomer = await world.signedIn(await world.addUser('Nora', [[world.acme, 'member']]));

  const page = await newcomer.open(world.authorizeUrl());

  assert.match(page.text, /your name and email address/i);
});
