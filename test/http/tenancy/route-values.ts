import type { Business } from '../../../src/accounts/businesses.ts';
import { createInvitation } from '../../../src/accounts/invitations.ts';
import { insertPasskey } from '../../../src/accounts/passkeys.ts';
import { createPasswordLink } from '../../../src/accounts/password-links.ts';
import { insertSession } from '../../../src/accounts/sessions.ts';
import type { User } from '../../../src/accounts/users.ts';
import { userActor } from '../../../src/accounts/users.ts';
import type { AuditedApp } from '../../../src/apps/app-audit.ts';
import { addSecret } from '../../../src/apps/secrets.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { recordEvent } from '../../../src/events/events.ts';
import { newId } from '../../../src/lib/ids.ts';
import { createKeyring, encrypt } from '../../../src/lib/keyring.ts';
import { hashSecret, newSecret } from '../../../src/lib/secrets.ts';
import { formKey } from '../../../src/web/form-keys.ts';
import { dispatchEvents } from '../../../src/webhooks/deliveries.ts';
import { findSecretFingerprint, insertEndpoint, markEndpointDisabled } from '../../../src/webhooks/endpoints.ts';
import { type Browser, hiddenFields } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import type { TestServer } from '../../support/test-server.ts';

/**
 * What can be named in an address or a form. `token` is what the link of an invitation ends with, `passwordToken` that of a link to set a password; `question` the address
 * of a consent screen, as the authorize endpoint makes it, and `sealed` what the form of that screen carries.
 */
const THINGS = [
  'business',
  'app',
  'secret',
  'endpoint',
  'secretMark',
  'delivery',
  'invitation',
  'token',
  'passwordToken',
  'user',
  'email',
  'session',
  'passkey',
  'credential',
  'act',
  'appTicket',
  'endpointTicket',
  'invitationTicket',
  'question',
  'sealed',
  'walk',
  'step',
] as const;

export type Thing = (typeof THINGS)[number];
export type Belongings = Record<Thing, string>;

export interface Holder {
  /** Null for the platform. */
  business: Business | null;
  /** The owner who invites people. */
  owner: User;
  /** The user of the session and passkey. */
  user: User;
  /** A part of every name. */
  word: string;
}

let people = 0;

/**
 * Creates one object of each kind; or, for a route, of its kinds. No delivery is pending, so that
 * tables can be compared.
 */
export async function provide(server: TestServer, holder: Holder, route = ''): Promise<Belongings> {
  const { business, user, word } = holder;
  const place = business ?? server.acme;
  const isAbout = (part: string) => route === '' || route.includes(part);
  const member = await server.addUser(`${word}${++people}`, [[place, 'member']]);
  if (isAbout('/verify-email')) await unverify(server, member);
  const app = await server.addApp({ name: `${word} app`, ownerBusinessId: business?.id ?? null });
  if (isAbout('/connected-apps')) await connectFor(server, { app, business: place, users: [member, user] });
  const things = {
    ...NOTHING,
    business: place.id,
    app: app.id,
    user: member.id,
    email: member.email,
    step: 'exchange',
    ...(await addSecretTo(server, app)),
    ...(isAbout('/endpoints') && (await addEndpointTo(server, app.id, { place, word }))),
    ...(isAbout('invit') && (await inviteTo(server, place, holder))),
    ...(isAbout('/password/') && { passwordToken: await makeLinkFor(server, member) }),
    ...(isAbout('/account') && (await addPersonalThings(server, user, word))),
    ...makeTickets(server, business, app.id),
    ...(isAbout('/consent') && { question: await questionAbout(server, app.id) }),
    act: (await latestAct(server)) ?? '',
  };
  await server.storage().transaction((tx) => dispatchEvents(tx, 100, server.clock()));
  return things;
}

const NOTHING = Object.fromEntries(THINGS.map((thing) => [thing, ''])) as Belongings;

/** Unknown, well-formed ids. */
export function nobodys(server: TestServer, mine: Belongings): Belongings {
  return everyId(mine, () => newId(server.clock()));
}

/** Malformed ids. */
export function malformed(mine: Belongings): Belongings {
  return everyId(mine, () => 'nonsense%00');
}

function everyId(mine: Belongings, make: () => string): Belongings {
  const entries = Object.keys(mine).map((thing) => [thing, make()]);
  return { ...(Object.fromEntries(entries) as Belongings), question: '?client_id=nonsense' };
}

async function connectFor(
  server: TestServer,
  { app, business, users }: { app: Awaited<ReturnType<TestServer['addApp']>>; business: Business; users: User[] },
): Promise<void> {
  for (const user of new Set(users)) {
    const browser = await server.signedIn(user);
    await createClient({ ...server, user, app, business }).authorize({}, browser);
  }
}

async function addSecretTo({ storage, clock }: TestServer, app: AuditedApp): Promise<Pick<Belongings, 'secret'>> {
  return storage().transaction(async (tx) => {
    await addSecret(OPERATOR, tx, app, clock());
    const { id } = await tx
      .selectFrom('app_secrets')
      .select('id')
      .where('app_id', '=', app.id)
      .executeTakeFirstOrThrow();
    return { secret: id };
  });
}

async function addEndpointTo(server: TestServer, appId: string, { place, word }: { place: Business; word: string }) {
  const { storage, clock, settings } = server;
  const keys = createKeyring(settings.secretKeys);
  // An address that is never called: it is refused before anything is sent.
  const wish = { appId, url: `https://127.0.0.1/${word}`, eventTypes: ['grant.created'] };
  return storage().transaction(async (tx) => {
    const { endpoint } = await insertEndpoint(tx, keys, wish, clock());
    await markEndpointDisabled(tx, endpoint.id, 'by_owner', clock());
    await recordEvent(tx, { type: 'grant.created', appId, businessId: place.id, data: { note: word } }, clock());
    await dispatchEvents(tx, 100, clock());
    const own = tx.selectFrom('deliveries').select('id').where('endpoint_id', '=', endpoint.id);
    const { id: delivery } = await own.executeTakeFirstOrThrow();
    await tx.updateTable('deliveries').set({ due_at: null, given_up_at: clock() }).where('id', '=', delivery).execute();
    return { endpoint: endpoint.id, secretMark: (await findSecretFingerprint(tx, endpoint)) ?? '', delivery };
  });
}

async function inviteTo({ storage, clock }: TestServer, place: Business, { owner, word }: Holder) {
  const [id, token] = [newId(clock()), newSecret()];
  const wish = {
    id,
    token,
    businessId: place.id,
    role: 'member',
    email: `${word}@invited.example`,
    inviter: owner,
  };
  await createInvitation(userActor(owner, '127.0.0.1'), storage().durable, wish, clock());
  return { invitation: id, token };
}

async function makeLinkFor({ storage, clock }: TestServer, { id: userId }: User): Promise<string> {
  const wish = { userId, businessId: null };
  const made = await createPasswordLink(OPERATOR, storage().durable, wish, clock());
  return made?.token ?? '';
}

/** Like an account that was created with an invitation. */
async function unverify({ storage }: TestServer, { id }: User): Promise<void> {
  await storage().durable.updateTable('users').set({ email_verified_at: null }).where('id', '=', id).execute();
}

async function addPersonalThings({ storage, clock, settings }: TestServer, user: User, word: string) {
  const keys = createKeyring(settings.secretKeys);
  const from = { user, browser: `${word} browser`, address: '127.0.0.1' };
  const { id } = await insertSession(storage().durable, from, clock());
  const credential = { id: newSecret(), publicKey: new Uint8Array([1]), counter: 0, transports: [] };
  const wish = { userId: user.id, name: `${word} phone`, credential };
  const passkey = await storage().transaction((tx) => insertPasskey(tx, wish, clock()));
  return {
    session: encrypt(keys, 'session address', hashSecret(id)),
    passkey: passkey?.id ?? '',
    credential: credential.id,
  };
}

function makeTickets({ settings, clock }: TestServer, business: Business | null, appId: string) {
  const parts = { keys: createKeyring(settings.secretKeys), clock };
  const owner = business?.id ?? null;
  return {
    appTicket: formKey(parts, 'new app', { owner }),
    endpointTicket: formKey(parts, 'new endpoint', { owner: appId }),
    invitationTicket: formKey(parts, 'new invitation', { owner, token: newSecret() }),
  };
}

async function questionAbout(server: TestServer, appId: string): Promise<string> {
  const answer = await fetch(server.authorizeUrl({ client_id: appId, scope: 'write:invoices' }), {
    redirect: 'manual',
  });
  return new URL(answer.headers.get('location') ?? server.web).search;
}

async function latestAct({ storage }: TestServer): Promise<string | undefined> {
  const row = await storage()
    .durable.selectFrom('audit_entries')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}

/** The signed request in the consent form of this browser. */
export async function sealedIn(browser: Browser, question: string): Promise<string> {
  const page = await browser.open(`/consent${question}`);
  return page.status === 200 ? (hiddenFields(page.text, '/consent').question ?? '') : '';
}
