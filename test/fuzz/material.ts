import { insertSession } from '../../src/accounts/sessions.ts';
import type { User } from '../../src/accounts/users.ts';
import { toBody } from '../support/browser.ts';
import { PASSWORD, type RegisteredApp } from '../support/fixtures.ts';
import { crawl, type Found, formsOf, type Pair } from './crawl.ts';
import type { Product } from './product.ts';

/** A sender of requests, with valid credentials and ids. */
export interface Actor extends Found {
  user: User | undefined;
  /** The cookie that binds forms to a browser. */
  visitor: string;
  cookie: string;
  csrf: string;
  /** Ids of the actor's own records, and of others. */
  ids: string[];
}

/** Valid values at the start of a round. */
export interface Material {
  anonymous: Actor;
  owner: Actor;
  admin: Actor;
  app: RegisteredApp;
  businessId: string;
  /** The query of an authorize request, and of `/consent`. */
  authorizeParams: Pair[];
  stamped: string;
  code: string;
  accessToken: string;
  refreshToken: string;
}

const REDIRECT_URI = 'https://fuzzed.example/callback?kept=1';
const PAGES = ['connected-apps', 'members', 'members/invite', 'developer', 'developer/new', 'account', 'audit-log'];
const PLATFORM = ['apps', 'businesses', 'users', 'audit-log', 'developer/apps', 'developer/apps/new'];

/** A new tenant for every round, so that rounds do not affect each other. */
export async function newMaterial(product: Product, round: number): Promise<Material> {
  const { fixtures } = product;
  const business = await fixtures.addBusiness(`Round ${round}`);
  const ownerUser = await fixtures.addUser(`owner-${round}`, [[business, 'owner']]);
  const member = await fixtures.addUser(`member-${round}`, [[business, 'member']]);
  const app = await fixtures.addApp({ ownerBusinessId: business.id, redirectUris: [REDIRECT_URI] });
  await fixtures.addInvoice(business);
  const adminUser = await fixtures.addUser(`admin-${round}`, [], true);
  const own = [business.id, ownerUser.id, member.id, app.id];
  const owner = await newActor(product, ownerUser, [...own, ...(await otherIds(product))]);
  await addEndpoint(product, owner, `/businesses/${business.id}/developer/${app.id}`);
  const invitation = await addInvitation(product, owner, business.id);
  // A platform admin may change any tenant, so it only knows ids of this round.
  const platformApp = await fixtures.addApp({ redirectUris: [REDIRECT_URI] });
  const admin = await newActor(product, adminUser, [business.id, member.id, app.id, platformApp.id]);
  await addEndpoint(product, admin, `/platform/developer/apps/${platformApp.id}`);
  const authorizeParams: Pair[] = [
    ['response_type', 'code'],
    ['client_id', app.id],
    ['redirect_uri', REDIRECT_URI],
    ['scope', 'read:invoices'],
    ['state', 'state-1'],
  ];
  const flow = await runFlow(product, owner, app, authorizeParams);
  const starts = PAGES.map((page) => `/settings/${page}`);
  return {
    ...flow,
    app,
    authorizeParams,
    businessId: business.id,
    owner: { ...owner, ...(await explore(product, owner, [...starts, '/sign-in', '/sign-out', flow.consentPath])) },
    admin: withoutOthers({
      ...admin,
      ...(await explore(
        product,
        admin,
        PLATFORM.map((page) => `/platform/${page}`),
      )),
    }),
    anonymous: await newAnonymous(product, invitation),
  };
}

async function newActor(product: Product, user: User, ids: string[]): Promise<Actor> {
  const met = await visit(product, ids);
  return { ...met, user, cookie: `__Host-session=${await openSession(product, user)}; ${met.visitor}` };
}

async function openSession({ storage }: Product, user: User): Promise<string> {
  const from = { user, browser: 'A fuzzer', address: '127.0.0.1' };
  return (await insertSession(storage.durable, from, Date.now())).id;
}

/** New sessions in the same browsers, whose forms stay valid. */
export async function renewSessions(product: Product, material: Material): Promise<void> {
  for (const actor of [material.owner, material.admin]) {
    if (!actor.user) continue;
    actor.cookie = `__Host-session=${await openSession(product, actor.user)}; ${actor.visitor}`;
  }
}

async function newAnonymous(product: Product, invitation: string): Promise<Actor> {
  const anonymous = await visit(product, await otherIds(product));
  return { ...anonymous, ...(await explore(product, anonymous, ['/sign-in', '/sign-out', invitation])) };
}

/** A first visit, which sets the cookie and the CSRF token. */
async function visit({ ports }: Product, ids: string[]): Promise<Actor> {
  const response = await fetch(`http://127.0.0.1:${ports.web}/sign-out`);
  const visitor = response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const form = formsOf(await response.text()).find(({ action }) => action === '/sign-out');
  const csrf = form?.fields.find(([name]) => name === 'csrf')?.[1] ?? '';
  return { user: undefined, visitor, cookie: visitor, csrf, ids, paths: [], forms: [] };
}

function explore(product: Product, actor: Actor, starts: string[]): Promise<Found> {
  return crawl(async (path) => (await send(product, actor, path)).text(), starts, 60);
}

function send({ ports }: Product, { cookie, csrf }: Actor, path: string, fields?: Record<string, string | string[]>) {
  const posted = fields && { method: 'POST', body: toBody({ csrf, ...fields }) };
  return fetch(`http://127.0.0.1:${ports.web}${path}`, { redirect: 'manual', headers: { cookie }, ...posted });
}

async function addEndpoint(product: Product, owner: Actor, appPath: string): Promise<void> {
  const path = `${appPath}/endpoints`;
  const form = formsOf(await (await send(product, owner, `${path}/new`)).text()).find(({ action }) => action === path);
  const fields = Object.fromEntries(form?.fields ?? []);
  await send(product, owner, path, { ...fields, url: 'https://hooks.fuzzed.example/', events: 'grant.created' });
}

async function addInvitation(product: Product, owner: Actor, businessId: string): Promise<string> {
  const path = `/businesses/${businessId}/members/invite`;
  const form = formsOf(await (await send(product, owner, path)).text()).find(({ action }) => action === path);
  const fields = { ...Object.fromEntries(form?.fields ?? []), role: 'member', email: 'guest@fuzzed.example' };
  const made = await send(product, owner, path, fields);
  return /\/invitation\/[\w-]+/.exec(await made.text())?.[0] ?? '';
}

/** One complete flow, and one up to an unused code. */
async function runFlow(product: Product, owner: Actor, app: RegisteredApp, authorizeParams: Pair[]) {
  const api = `http://127.0.0.1:${product.ports.api}/api/v1/oauth`;
  const authorize = async (more: Pair[] = []) => {
    const query = new URLSearchParams(Object.fromEntries([...authorizeParams, ...more]));
    const response = await fetch(`${api}/authorize?${query}`, { redirect: 'manual' });
    return (response.headers.get('location') ?? '').replace(product.origins.web, '');
  };
  const codeOf = (response: Response) => new URL(response.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const page = formsOf(await (await send(product, owner, await authorize())).text());
  const fields = page.find(({ action }) => action === '/consent')?.fields ?? [];
  const code = codeOf(await send(product, owner, '/consent', { ...Object.fromEntries(fields), decision: 'allow' }));
  const exchanged = await fetch(`${api}/token`, {
    method: 'POST',
    body: toBody({
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT_URI,
      client_id: app.id,
      client_secret: app.secret,
    }),
  });
  const { access_token, refresh_token } = (await exchanged.json()) as Record<string, string>;
  const stamped = await authorize();
  const again = codeOf(await send(product, owner, stamped));
  // A scope that is not allowed yet leads to the consent screen.
  const consentPath = await authorize([['scope', 'read:invoices read:contacts']]);
  return { stamped, consentPath, code: again, accessToken: access_token ?? '', refreshToken: refresh_token ?? '' };
}

/** Ids of the tenant that must not change. */
async function otherIds({ storage, fixtures }: Product): Promise<string[]> {
  const [grants, endpoints, invitations, secrets] = await Promise.all(
    (['grants', 'endpoints', 'app_secrets'] as const)
      .map((table) => storage.durable.selectFrom(table).select('id').where('app_id', '=', fixtures.ledger.id).execute())
      .concat(
        storage.durable.selectFrom('invitations').select('id').where('business_id', '=', fixtures.acme.id).execute(),
      ),
  );
  const rows = [grants, endpoints, invitations, secrets].flatMap((list) => list ?? []);
  return [fixtures.acme.id, fixtures.ada.id, fixtures.ledger.id, ...rows.map(({ id }) => id)];
}

function withoutOthers(admin: Actor): Actor {
  const isOwn = (text: string) => {
    const named = text.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? [];
    return named.every((id) => admin.ids.includes(id));
  };
  return {
    ...admin,
    paths: admin.paths.filter(isOwn),
    forms: admin.forms.filter(({ action, fields }) => isOwn(`${action} ${JSON.stringify(fields)}`)),
  };
}

const TRUE_TEXTS = [PASSWORD, REDIRECT_URI, 'read:invoices', 'https://hooks.fuzzed.example/', 'owner', 'yes'];

/** Valid values of other fields. */
export function trueTexts({ owner, app, code, accessToken, refreshToken }: Material): string[] {
  return [...TRUE_TEXTS, app.secret, code, accessToken, refreshToken, owner.csrf];
}
