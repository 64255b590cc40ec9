import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findUser } from '../../accounts/users.ts';
import { type App, findApp } from '../../apps/apps.ts';
import { type ConnectedUsers, countConnectedUsers } from '../../grants/connected-users.ts';
import { type Connection, disconnect, listConnections, type Named } from '../../grants/connections.ts';
import { formatCount } from '../../grants/counts.ts';
import { type Html, html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { access } from '../access.ts';
import { businessPath, businessRoute } from '../business-address.ts';
import { question } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, postForm, text, time } from '../forms.ts';
import { sendPage } from '../layout.ts';
import { actorOf } from '../session.ts';
import { loadMembersContext, type MembersContext } from './members.ts';

export const CONNECTED_APPS = businessRoute('connected-apps');

export function connectedAppsPath(business: { businessId: string }): string {
  return businessPath(business, 'connected-apps');
}

/** Where an owner disconnects an app, for one person or for everyone. */
export function disconnectPath(business: { id: string }, app: { id: string }, user?: { id: string }): string {
  const connection = user ? `${app.id}/${user.id}` : app.id;
  return `${connectedAppsPath({ businessId: business.id })}/${connection}/disconnect`;
}

type Parties = Record<'business' | 'app' | 'user', { id: string }>;

/** The page of one connection. */
export function connectionPath({ business, app, user }: Parties): string {
  return `${connectedAppsPath({ businessId: business.id })}/${app.id}/${user.id}`;
}

/** Where owners decide who is responsible for a connection. */
export function authorityPath({ business, app, user }: Pick<Connection, 'business' | 'app' | 'user'>): string {
  return `${connectionPath({ business, app, user })}/authority`;
}

/** Users disconnect their own apps in a dialog of the list. */
export function mountDisconnecting(host: FastifyInstance, deps: WebDeps): void {
  host.post<{ Body: Form }>(`${CONNECTED_APPS}/disconnect`, access('member'), async (request, reply) => {
    const { user, business } = await loadMembersContext(deps, request);
    const app = await findApp(deps.storage.durable, text(request.body, 'app'));
    if (!app) throw notFound();
    await disconnectOr404(deps, request, { app, businessId: business.businessId, user });
    return redirectWithFlash(reply, connectedAppsPath(business), 'disconnected');
  });

  mountForOnePerson(host, deps);
  mountForEveryone(host, deps);
}

/** An owner disconnects the app of another person, after a confirmation. */
function mountForOnePerson(host: FastifyInstance, deps: WebDeps): void {
  const path = `${CONNECTED_APPS}/:app/:user/disconnect`;
  type Route = { Params: { app: string; user: string } };

  host.get<Route>(path, access('owner'), async (request, reply) => {
    const { context, app, business } = await requireApp(deps, request);
    const { user: userId } = request.params;
    if (!isId(userId)) throw notFound();
    const filter = { businessIds: [business.id], appId: app.id, userId };
    const [connection] = await listConnections(deps.storage.durable, filter, deps.clock());
    if (!connection) throw notFound();
    return confirm(deps, { context, reply }, confirmForPerson(connection));
  });

  host.post<Route>(path, access('owner'), async (request, reply) => {
    const { context, app, business } = await requireApp(deps, request);
    const user = await findUser(deps.storage.durable, request.params.user);
    if (!user) throw notFound();
    await disconnectOr404(deps, request, { app, businessId: business.id, user });
    return redirectWithFlash(reply, connectedAppsPath(context.business), 'disconnected');
  });
}

function mountForEveryone(host: FastifyInstance, deps: WebDeps): void {
  const path = `${CONNECTED_APPS}/:app/disconnect`;
  type Route = { Params: { app: string } };

  host.get<Route>(path, access('owner'), async (request, reply) => {
    const { context, app, business } = await requireApp(deps, request);
    const counts = await countConnectedUsers(
      deps.storage.durable,
      { appId: app.id, businessId: business.id },
      deps.clock(),
    );
    if (counts.users === 0 && !counts.isPart) throw notFound();
    return confirm(deps, { context, reply }, confirmForEveryone(app, business, counts));
  });

  host.post<Route>(path, access('owner'), async (request, reply) => {
    const { context, app, business } = await requireApp(deps, request);
    await disconnectOr404(deps, request, { app, businessId: business.id });
    return redirectWithFlash(reply, connectedAppsPath(context.business), 'disconnected_everyone');
  });
}

interface AppInBusiness {
  context: MembersContext;
  app: App;
  business: Named;
}

/** 404 for an app that does not exist. The page declares who may open it. */
export async function requireApp(
  deps: WebDeps,
  request: FastifyRequest<{ Params: { app: string } }>,
): Promise<AppInBusiness> {
  const context = await loadMembersContext(deps, request);
  const app = await findApp(deps.storage.durable, request.params.app);
  if (!app) throw notFound();
  const { businessId, businessName } = context.business;
  return { context, app, business: { id: businessId, name: businessName } };
}

type Connected = Parameters<typeof disconnect>[2];

async function disconnectOr404({ storage, clock }: WebDeps, request: FastifyRequest, connected: Connected) {
  if (!(await disconnect(actorOf(request), storage.durable, connected, clock()))) throw notFound();
}

interface Confirmation {
  title: string;
  body: Html;
  action: string;
  /** The page to return to. */
  back: string;
}

async function confirm(
  deps: WebDeps,
  { context, reply }: { context: MembersContext; reply: FastifyReply },
  { title, body, action, back }: Confirmation,
): Promise<FastifyReply> {
  return sendPage(reply, {
    title,
    platformName: deps.platformName,
    width: 'wide',
    context,
    body: question({
      title,
      back: { to: connectedAppsPath(context.business), name: 'Connected apps' },
      body: html`${body}
<div class="form-actions"><a class="button secondary" href="${back}">Cancel</a>
${postForm({ action, csrf: context.csrf, body: html`<button class="danger">Disconnect</button>` })}</div>`,
    }),
  });
}

function confirmForPerson(connection: Connection): Confirmation {
  const { app, user, business, since, lastUsedAt } = connection;
  return {
    title: `Disconnect ${app.name} for ${user.name}?`,
    action: disconnectPath(business, app, user),
    back: connectionPath(connection),
    body: html`<p>Every token that ${app.name} has for ${user.name} in ${business.name} stops working at once, and ${app.name} is notified that an owner disconnected it. ${user.name} can allow it again.</p>
<dl class="facts">
<div><dt>Connected since</dt><dd>${time(since)}</dd></div>
<div><dt>Last used</dt><dd>${lastUsedAt === null ? 'Not recently' : time(lastUsedAt)}</dd></div>
</dl>`,
  };
}

function confirmForEveryone(app: App, business: Named, counted: ConnectedUsers): Confirmation {
  return {
    title: `Disconnect ${app.name} for everyone?`,
    action: disconnectPath(business, app),
    back: connectedAppsPath({ businessId: business.id }),
    body: html`<p>Every token that ${app.name} has in ${business.name} stops working at once, and ${app.name} is notified that an owner disconnected it. Anyone can allow it again.</p>
<dl class="facts">
<div><dt>People who have connected it</dt><dd>${formatCount(counted.users, counted)}</dd></div>
<div><dt>People it has access for now</dt><dd>${formatCount(counted.live, counted)}</dd></div>
</dl>`,
  };
}
