import { type Business, findBusiness } from '../../../src/accounts/businesses.ts';
import { createInvitation } from '../../../src/accounts/invitations.ts';
import { insertPasskey } from '../../../src/accounts/passkeys.ts';
import { createPasswordLink } from '../../../src/accounts/password-links.ts';
import { insertSession } from '../../../src/accounts/sessions.ts';
import type { User } from '../../../src/accounts/users.ts';
import { userActor } from '../../../src/accounts/users.ts';
import { changeLogo } from '../../../src/apps/app-changes.ts';
import type { App } from '../../../src/apps/apps.ts';
import { addSecret } from '../../../src/apps/secrets.ts';
import { checkedFingerprint } from '../../../src/apps/verification.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { recordEvent } from '../../../src/events/events.ts';
import { requestApproval } from '../../../src/grants/app-requests.ts';
import { newId } from '../../../src/lib/ids.ts';
import { createKeyring, encrypt } from '../../../src/lib/keyring.ts';
import { hashSecret, newSecret } from '../../../src/lib/secrets.ts';
import { addRequests } from '../../../src/request-log/log.ts';
import { formKey } from '../../../src/web/form-keys.ts';
import { dispatchEvents } from '../../../src/webhooks/deliveries.ts';
import { findSecretFingerprint, insertEndpoint, markEndpointDisabled } from '../../../src/webhooks/endpoints.ts';
import { type Browser, hiddenFields } from '../../support/browser.ts';
import { createClient } from '../../support/client.ts';
import { makePng } from '../../support/images.ts';
import { requestOf } from '../../support/request-log.ts';
import type { TestServer } from '../../support/test-server.ts';

/**
 * The values that the URL or the form of a page can contain. `token` is in the link of an invitation, `passwordToken` in a
 * link to set a password. `consentQuery` is the query of a consent screen, `consentState` the signed field of its form.
 */
const VALUE_NAMES = [
  'business',
  'app',
  'secret',
  'logo',
  'fingerprint',
  'endpoint',
  'secretFingerprint',
  'request',
  'delivery',
  'invitation',
  'token',
  'passwordToken',
  'user',
  'owner',
  'email',
  'session',
  'passkey',
  'credential',
  'auditEntry',
  'appFormKey',
  'endpointFormKey',
  'invitationFormKey',
  'consentQuery',
  'consentState',
  'playgroundState',
  'step',
] as const;

export type ValueName = (typeof VALUE_NAMES)[number];
export type RouteValues = Record<ValueName, string>;

export interface ValueOwner {
  /** Null for the platform. */
  business: Business | null;
  /** The owner who invites people. */
  owner: User;
  /** The user of the session and passkey. */
  user: User;
  /** A part of every name. */
  word: string;
}

let userCount = 0;

/** The routes that name a member, or need one who has connected the app or asked for it. */
const ABOUT_MEMBERS = /user|password|sign-in|verify-email|apps/;

/** A route may have renamed the business. */
async function ownerNameOf(server: TestServer, business: Business | null): Promise<string | null> {
  return (business && (await findBusiness(server.storage().durable, business.id))?.name) ?? null;
}

/**
 * Creates one object of each kind, or only of the kinds that a route needs. No delivery is pending, so that
 * tables can be compared.
 */
export async function createValues(server: TestServer, owned: ValueOwner, route = ''): Promise<RouteValues> {
  const { business, user, word } = owned;
  const tenant = business ?? server.acme;
  const isAbout = (part: string) => route === '' || route.includes(part);
  const namesMember = route === '' || ABOUT_MEMBERS.test(route);
  const member = namesMember ? await server.addUser(`${word}${++userCount}`, [[tenant, 'member']]) : user;
  if (isAbout('/verify-email')) await unverify(server, member);
  const app = await server.addApp({ name: `${word} app`, ownerBusinessId: business?.id ?? null });
  if (isAbout('/settings/apps')) await askFor(server, { app, business: tenant, member });
  if (isAbout('/connected-apps')) await connectFor(server, { app, business: tenant, users: [member, user] });
  if (isAbout('/authority') || route.endsWith('/:app/:user')) await markForBusiness(server, app);
  const logoHash = isAbout('/logo') ? await addLogoTo(server, app.id) : null;
  const values = {
    ...NO_VALUES,
    business: tenant.id,
    app: app.id,
    user: member.id,
    owner: owned.owner.id,
    email: member.email,
    step: 'exchange',
    ...(isAbout('/secrets') && (await addSecretTo(server, app))),
    logo: logoHash ?? '',
    fingerprint: checkedFingerprint({ ...app, logoHash }, await ownerNameOf(server, business)),
    ...(isAbout('/endpoints') && (await addEndpointTo(server, app.id, { business: tenant, word }))),
    ...(isAbout('/requests') && (await logRequestOf(server, app.id, word))),
    ...(isAbout('invit') && (await inviteTo(server, tenant, owned))),
    ...(isAbout('/password/') && { passwordToken: await createLinkFor(server, member) }),
    ...(isAbout('/account') && (await addCredentials(server, user, word))),
    ...createFormKeys(server, business, app.id),
    ...(isAbout('/consent') && { consentQuery: await requestConsent(server, app.id) }),
    ...(isAbout('/audit-log') && { auditEntry: (await latestAuditEntry(server)) ?? '' }),
  };
  await server.storage().transaction((tx) => dispatchEvents(tx, 100, server.clock()));
  return values;
}

let logoCount = 0;

/** Each logo is another image, so each has another address. */
async function addLogoTo(server: TestServer, appId: string): Promise<string> {
  const file = makePng({ color: [++logoCount >> 8, logoCount & 0xff, 0] });
  const changed = await changeLogo(OPERATOR, server.storage().durable, { appId, file }, server.clock());
  return changed?.logoHash ?? '';
}

const NO_VALUES = Object.fromEntries(VALUE_NAMES.map((name) => [name, ''])) as RouteValues;

/** Unknown, well-formed ids. */
export function unknownValues(server: TestServer, own: RouteValues): RouteValues {
  return replaceEach(own, () => newId(server.clock()));
}

/** Malformed ids. */
export function malformedValues(own: RouteValues): RouteValues {
  return replaceEach(own, () => 'nonsense%00');
}

function replaceEach(own: RouteValues, make: () => string): RouteValues {
  const entries = Object.keys(own).map((name) => [name, make()]);
  return { ...(Object.fromEntries(entries) as RouteValues), consentQuery: '?client_id=nonsense' };
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

/** Its users are responsible for it as if they were owners or admins. */
async function markForBusiness({ storage }: TestServer, app: App): Promise<void> {
  const change = { connected_for: 'business' } as const;
  await storage().durable.updateTable('grants').set(change).where('app_id', '=', app.id).execute();
  await storage().durable.updateTable('consents').set(change).where('app_id', '=', app.id).execute();
}

async function askFor(
  { storage, clock }: TestServer,
  { app, business, member }: { app: App; business: Business; member: User },
): Promise<void> {
  const request = { app, businessId: business.id, scopes: ['read:invoices'], note: 'For work' };
  await requestApproval(userActor(member, '127.0.0.1'), storage().durable, request, clock());
}

async function addSecretTo({ storage, clock }: TestServer, app: App): Promise<Pick<RouteValues, 'secret'>> {
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

async function addEndpointTo(
  server: TestServer,
  appId: string,
  { business, word }: { business: Business; word: string },
) {
  const { storage, clock } = server;
  const keys = createKeyring(server.settings.secretKeys);
  // A private address: no request is ever sent to it.
  const settings = { appId, url: `https://127.0.0.1/${word}`, eventTypes: ['grant.created'] };
  return storage().transaction(async (tx) => {
    const { endpoint } = await insertEndpoint(tx, keys, settings, clock());
    await markEndpointDisabled(tx, endpoint.id, 'by_owner', clock());
    await recordEvent(tx, { type: 'grant.created', appId, businessId: business.id, data: { note: word } }, clock());
    await dispatchEvents(tx, 100, clock());
    const own = tx.selectFrom('deliveries').select('id').where('endpoint_id', '=', endpoint.id);
    const { id: delivery } = await own.executeTakeFirstOrThrow();
    await tx.updateTable('deliveries').set({ due_at: null, given_up_at: clock() }).where('id', '=', delivery).execute();
    return { endpoint: endpoint.id, secretFingerprint: (await findSecretFingerprint(tx, endpoint)) ?? '', delivery };
  });
}

async function logRequestOf({ storage, clock }: TestServer, appId: string, word: string) {
  const db = storage().durable;
  await addRequests(db, [requestOf(appId, { at: clock(), route: `/${word}` })]);
  const { id } = await db
    .selectFrom('logged_requests')
    .select('id')
    .where('app_id', '=', appId)
    .executeTakeFirstOrThrow();
  return { request: id };
}

async function inviteTo({ storage, clock }: TestServer, business: Business, { owner, word }: ValueOwner) {
  const [id, token] = [newId(clock()), newSecret()];
  const invitation = {
    id,
    token,
    businessId: business.id,
    role: 'member',
    email: `${word}@invited.example`,
    inviter: owner,
  };
  await createInvitation(userActor(owner, '127.0.0.1'), storage().durable, invitation, clock());
  return { invitation: id, token };
}

async function createLinkFor({ storage, clock }: TestServer, { id: userId }: User): Promise<string> {
  const link = await createPasswordLink(OPERATOR, storage().durable, { userId, businessId: null }, clock());
  return link?.token ?? '';
}

/** Like an account that was created with an invitation. */
async function unverify({ storage }: TestServer, { id }: User): Promise<void> {
  await storage().durable.updateTable('users').set({ email_verified_at: null }).where('id', '=', id).execute();
}

async function addCredentials({ storage, clock, settings }: TestServer, user: User, word: string) {
  const keys = createKeyring(settings.secretKeys);
  const from = { user, browser: `${word} browser`, address: '127.0.0.1' };
  const { id } = await insertSession(storage().durable, from, clock());
  const credential = { id: newSecret(), publicKey: new Uint8Array([1]), counter: 0, transports: [] };
  const passkey = { userId: user.id, name: `${word} phone`, credential };
  const inserted = await storage().transaction((tx) => insertPasskey(tx, passkey, clock()));
  return {
    session: encrypt(keys, 'session address', hashSecret(id)),
    passkey: inserted?.id ?? '',
    credential: credential.id,
  };
}

function createFormKeys({ settings, clock }: TestServer, business: Business | null, appId: string) {
  const deps = { keys: createKeyring(settings.secretKeys), clock };
  const owner = business?.id ?? null;
  return {
    appFormKey: formKey(deps, 'new app', { owner }),
    endpointFormKey: formKey(deps, 'new endpoint', { owner: appId }),
    invitationFormKey: formKey(deps, 'new invitation', { owner, token: newSecret() }),
  };
}

async function requestConsent(server: TestServer, appId: string): Promise<string> {
  const response = await fetch(server.authorizeUrl({ client_id: appId, scope: 'write:invoices' }), {
    redirect: 'manual',
  });
  return new URL(response.headers.get('location') ?? server.web).search;
}

async function latestAuditEntry({ storage }: TestServer): Promise<string | undefined> {
  const row = await storage()
    .durable.selectFrom('audit_entries')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}

/** The signed field of the consent form that this browser shows. */
export async function readConsentState(browser: Browser, consentQuery: string): Promise<string> {
  const page = await browser.open(`/consent${consentQuery}`);
  return page.status === 200 ? (hiddenFields(page.text, '/consent').consent_state ?? '') : '';
}
