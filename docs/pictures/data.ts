import { randomBytes } from 'node:crypto';
import { insertAuthenticatorApp } from '../../src/accounts/authenticator-apps.ts';
import { createInvitation } from '../../src/accounts/invitations.ts';
import { listMemberships } from '../../src/accounts/memberships.ts';
import { findUserByEmail, type User, userActor } from '../../src/accounts/users.ts';
import { searchAppsOf } from '../../src/apps/app-search.ts';
import { type App, findApp, registerApp } from '../../src/apps/apps.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { EVENTS } from '../../src/events/event-types.ts';
import { recordEvent } from '../../src/events/events.ts';
import { blockApp } from '../../src/grants/app-approvals.ts';
import { requestApproval } from '../../src/grants/app-requests.ts';
import { DAY, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { newId } from '../../src/lib/ids.ts';
import type { Keyring } from '../../src/lib/keyring.ts';
import { listRequests } from '../../src/request-log/log.ts';
import type { Database } from '../../src/storage/storage.ts';
import { dispatchEvents, listDue, type Outcome, recordAttempt, sendTest } from '../../src/webhooks/deliveries.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';

const ADDRESS = '203.0.113.24';

export async function requireUser(db: Database, email: string): Promise<User> {
  const user = await findUserByEmail(db, email);
  if (!user) throw new Error(`The demo has no user ${email}.`);
  return user;
}

export async function findParcelwise(db: Database, ownerBusinessId: string): Promise<string> {
  const [app] = await searchAppsOf(db, ownerBusinessId, { search: 'Parcelwise', after: undefined, limit: 1 });
  if (!app) throw new Error('The demo has no Parcelwise.');
  return app.id;
}

export async function findFailedRequest(db: Database, appId: string): Promise<string> {
  const [request] = await listRequests(db, { appId, status: 'failed', limit: 1 });
  if (!request) throw new Error('The demo has no failed request.');
  return request.id;
}

interface Receiver {
  endpoint: string;
  /** One whose first attempt failed. */
  delivery: string;
}

const SIGNED = { at: 1_794_000_000_000, signature: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=' };
const RESPONSE = 'date: Tue, 17 Nov 2026 12:00:00 GMT\ncontent-type: text/plain\ncontent-length: 2';
const DELIVERED: Outcome = {
  outcome: 'delivered',
  status: 200,
  head: `200 OK\n${RESPONSE}`,
  took: 84,
  signed: SIGNED,
};
const REFUSED: Outcome = {
  ...DELIVERED,
  outcome: 'refused',
  status: 503,
  head: `503 Service Unavailable\n${RESPONSE}`,
};
const TIMEOUT: Outcome = { ...DELIVERED, outcome: 'timeout', status: null, head: '', took: 15_000 };

/** With deliveries in its log. */
export async function addReceiver(db: Database, keys: Keyring, appId: string, now: number): Promise<Receiver> {
  const eventTypes = ['grant.created', 'grant.revoked'] as const;
  const addition = { appId, url: 'http://127.0.0.1:4703/events', eventTypes: [...eventTypes] };
  const { endpoint } = await insertEndpoint(db, keys, addition, now - DAY);
  const outcomes = [[DELIVERED], [REFUSED, TIMEOUT], [DELIVERED], [TIMEOUT, DELIVERED], [DELIVERED]];
  let delivery = '';
  for (const [i, made] of outcomes.entries()) {
    const at = Math.floor((now - (outcomes.length - i) * 7 * MINUTE) / SECOND) * SECOND;
    const type = eventTypes[i % 2] ?? 'grant.created';
    const { example } = EVENTS[type] ?? {};
    await recordEvent(db, { type, appId, businessId: newId(at), data: example as Record<string, string> }, at);
    await dispatchEvents(db, 10, at);
    const [due] = (await listDue(db, endpoint.id, 10, at)).filter(({ attempts }) => attempts === 0);
    if (!due) throw new Error('The event was not dispatched.');
    for (const [n, outcome] of made.entries()) {
      const attemptedAt = made.at(-1) === TIMEOUT && n > 0 ? now : at + n * MINUTE;
      const signed = { ...SIGNED, at: at + n * MINUTE };
      await recordAttempt(db, { ...due, attempts: n }, { ...outcome, signed }, { chance: 1, now: attemptedAt });
    }
    if (made[0] === TIMEOUT) delivery = due.id;
  }
  await sendTest(db, endpoint, now);
  return { endpoint: endpoint.id, delivery };
}

interface Owner {
  user: User;
  member: User;
  businessId: string;
}

/** An open invitation, an app that waits for an approval, and one that is blocked. */
export async function addDecisions(db: Database, { user, member, businessId }: Owner, appId: string, now: number) {
  const owner = userActor(user, ADDRESS);
  const invitation = { id: newId(now), token: randomBytes(32).toString('base64url'), businessId, inviter: owner };
  await createInvitation(owner, db, { ...invitation, role: 'admin', email: 'noor@harbour.example' }, now);
  const app = await findApp(db, appId);
  if (!app) throw new Error('There is no such app.');
  const request = { app, businessId, scopes: ['read:invoices', 'read:contacts'], note: 'For the monthly reports' };
  await requestApproval(userActor(member, ADDRESS), db, request, now);
  await blockApp(owner, db, { app: await addOther(db, businessId, now), businessId, reason: 'Not used any more' }, now);
}

async function addOther(db: Database, ownerBusinessId: string, now: number): Promise<App> {
  const settings = {
    name: 'Stockroom',
    ownerBusinessId,
    redirectUris: ['https://stockroom.example/callback'],
    allowedScopes: ['read:orders'],
    openToAnyBusiness: false,
    requiresPkce: true,
  };
  const registered = await registerApp(OPERATOR, db, settings, now);
  if (!registered) throw new Error('The app could not be registered.');
  return registered.app;
}

export async function businessOf(db: Database, user: User): Promise<string> {
  const [membership] = await listMemberships(db, user.id);
  if (!membership) throw new Error(`${user.name} belongs to no business.`);
  return membership.businessId;
}

/** As if the user had signed in with it. */
export async function turnOnTwoStep(db: Database, keys: Keyring, userId: string, now: number): Promise<void> {
  await insertAuthenticatorApp(db, keys, { userId, secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', step: 1 }, now);
  await db.updateTable('sessions').set({ second_factor: 'authenticator app' }).where('user_id', '=', userId).execute();
}
