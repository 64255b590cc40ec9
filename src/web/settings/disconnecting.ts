import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findMembership } from '../../accounts/memberships.ts';
import { findUser } from '../../accounts/users.ts';
import { type App, findApp } from '../../apps/apps.ts';
import { countConnectedUsers } from '../../grants/connection-rows.ts';
import { type Connection, disconnect, listConnections, type Named } from '../../grants/connections.ts';
import { type Html, html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { access } from '../access.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, postForm, text, time } from '../forms.ts';
import { sendPage } from '../layout.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf, requireSession } from '../session.ts';

export const CONNECTED_APPS = '/settings/connected-apps';

/** Users disconnect their own apps with one click. */
export function mountDisconnecting(host: FastifyInstance, deps: WebDeps): void {
  host.post<{ Body: Form }>(`${CONNECTED_APPS}/disconnect`, access('signed_in'), async (request, reply) => {
    const { user } = requireSession(request);
    const [appId, businessId] = [text(request.body, 'app'), text(request.body, 'business')];
    const membership = isId(businessId) && (await findMembership(deps.storage.durable, user.id, businessId));
    const app = await findApp(deps.storage.durable, appId);
    if (!app || !membership) throw notFound();
    await disconnectOr404(deps, request, { app, businessId, user });
    return redirectWithFlash(reply, CONNECTED_APPS, 'disconnected');
  });

  mountForOnePerson(host, deps);
  mountForEveryone(host, deps);
}

/** An owner disconnects the app of another person, after a confirmation. */
function mountForOnePerson(host: FastifyInstance, deps: WebDeps): void {
  const path = `${CONNECTED_APPS}/:business/:app/:user/disconnect`;
  type Route = { Params: { business: string; app: string; user: string } };

  host.get<Route>(path, access('signed_in'), async (request, reply) => {
    const { app, business } = await requireOwner(deps, request);
    const { user: userId } = request.params;
    if (!isId(userId)) throw notFound();
    const filter = { businessIds: [business.id], appId: app.id, userId };
    const [connection] = await listConnections(deps.storage.durable, filter, deps.clock());
    if (!connection) throw notFound();
    return confirm(deps, { request, reply }, confirmForPerson(connection));
  });

  host.post<Route>(path, access('signed_in'), async (request, reply) => {
    const { app, business } = await requireOwner(deps, request);
    const user = await findUser(deps.storage.durable, request.params.user);
    if (!user) throw notFound();
    await disconnectOr404(deps, request, { app, businessId: business.id, user });
    return redirectWithFlash(reply, CONNECTED_APPS, 'disconnected');
  });
}

function mountForEveryone(host: FastifyInstance, deps: WebDeps): void {
  const path = `${CONNECTED_APPS}/:business/:app/disconnect`;
  type Route = { Params: { business: string; app: string } };

  host.get<Route>(path, access('signed_in'), async (request, reply) => {
    const { app, business } = await requireOwner(deps, request);
    const counts = await countConnectedUsers(
      deps.storage.durable,
      { appId: app.id, businessId: business.id },
      deps.clock(),
    );
    if (counts.users === 0) throw notFound();
    return confirm(deps, { request, reply }, confirmForEveryone(app, business, counts));
  });

  host.post<Route>(path, access('signed_in'), async (request, reply) => {
    const { app, business } = await requireOwner(deps, request);
    await disconnectOr404(deps, request, { app, businessId: business.id });
    return redirectWithFlash(reply, CONNECTED_APPS, 'disconnected_everyone');
  });
}

type OwnerRequest = FastifyRequest<{ Params: { business: string; app: string } }>;

/** 404 for everyone but owners, and for apps that are not connected to their business. */
export async function requireOwner(
  { storage }: WebDeps,
  request: OwnerRequest,
): Promise<{ app: App; business: Named }> {
  const { user } = requireSession(request);
  const { business: id, app: appId } = request.params;
  const membership = isId(id) ? await findMembership(storage.durable, user.id, id) : undefined;
  const app = membership?.role === 'owner' ? await findApp(storage.durable, appId) : undefined;
  if (!membership || !app) throw notFound();
  return { app, business: { id, name: membership.businessName } };
}

type Connected = Parameters<typeof disconnect>[2];

async function disconnectOr404({ storage, clock }: WebDeps, request: FastifyRequest, connected: Connected) {
  if (!(await disconnect(actorOf(request), storage.durable, connected, clock()))) throw notFound();
}

interface Confirmation {
  title: string;
  body: Html;
  action: string;
}

async function confirm(
  deps: WebDeps,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { title, body, action }: Confirmation,
): Promise<FastifyReply> {
  const context = await loadPageContext(deps, request);
  return sendPage(reply, {
    title,
    platformName: deps.platformName,
    width: 'wide',
    context,
    body: html`<div class="card"><h1>${title}</h1>
${body}
<div class="form-actions"><a class="button secondary" href="${CONNECTED_APPS}">Keep it</a>
${postForm({ action, csrf: context.csrf, body: html`<button class="danger">Disconnect</button>` })}</div></div>`,
  });
}

function confirmForPerson({ app, user, business, since, lastUsedAt }: Connection): Confirmation {
  return {
    title: `Disconnect ${app.name} for ${user.name}?`,
    action: `${CONNECTED_APPS}/${business.id}/${app.id}/${user.id}/disconnect`,
    body: html`<p>Every token that ${app.name} has for ${user.name} in ${business.name} stops working at once, and ${app.name} is notified that an owner disconnected it. ${user.name} can allow it again.</p>
<dl class="facts">
<div><dt>Connected since</dt><dd>${time(since)}</dd></div>
<div><dt>Last used</dt><dd>${lastUsedAt === null ? 'Not recently' : time(lastUsedAt)}</dd></div>
</dl>`,
  };
}

function confirmForEveryone(app: App, business: Named, { users, live }: { users: number; live: number }): Confirmation {
  return {
    title: `Disconnect ${app.name} for everyone?`,
    action: `${CONNECTED_APPS}/${business.id}/${app.id}/disconnect`,
    body: html`<p>Every token that ${app.name} has in ${business.name} stops working at once, and ${app.name} is notified that an owner disconnected it. Anyone can allow it again.</p>
<dl class="facts">
<div><dt>People who have connected it</dt><dd>${users}</dd></div>
<div><dt>People it has access for now</dt><dd>${live}</dd></div>
</dl>`,
  };
}
