import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findMembership } from '../../accounts/memberships.ts';
import { findUser } from '../../accounts/users.ts';
import { type App, findApp } from '../../apps/apps.ts';
import { recordAudit } from '../../audit/entries.ts';
import { countPeople } from '../../grants/connection-rows.ts';
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
import { CONNECTED_APPS } from './connection-cards.ts';

/** One's own goes with one click. */
export function mountDisconnecting(host: FastifyInstance, deps: WebDeps): void {
  host.post<{ Body: Form }>(`${CONNECTED_APPS}/disconnect`, access('signed_in'), async (request, reply) => {
    const { user } = requireSession(request);
    const [appId, businessId] = [text(request.body, 'app'), text(request.body, 'business')];
    const membership = isId(businessId) && (await findMembership(deps.storage.durable, user.id, businessId));
    const app = await findApp(deps.storage.durable, appId);
    if (!app || !membership) throw notFound();
    await end(deps, request, { app, businessId, user });
    return redirectWithFlash(reply, CONNECTED_APPS, 'disconnected');
  });

  mountForOnePerson(host, deps);
  mountForEveryone(host, deps);
}

/** What another person has connected, an owner can end; with a question first. */
function mountForOnePerson(host: FastifyInstance, deps: WebDeps): void {
  const path = `${CONNECTED_APPS}/:business/:app/:user/disconnect`;
  type Asked = { Params: { business: string; app: string; user: string } };

  host.get<Asked>(path, access('signed_in'), async (request, reply) => {
    const { app, business } = await enterAsOwner(deps, request);
    const { user: userId } = request.params;
    if (!isId(userId)) throw notFound();
    const wanted = { businessIds: [business.id], appId: app.id, userId };
    const [connection] = await listConnections(deps.storage.durable, wanted, deps.clock());
    if (!connection) throw notFound();
    return ask(deps, { request, reply }, personQuestion(connection));
  });

  host.post<Asked>(path, access('signed_in'), async (request, reply) => {
    const { app, business } = await enterAsOwner(deps, request);
    const user = await findUser(deps.storage.durable, request.params.user);
    if (!user) throw notFound();
    await end(deps, request, { app, businessId: business.id, user });
    return redirectWithFlash(reply, CONNECTED_APPS, 'disconnected');
  });
}

function mountForEveryone(host: FastifyInstance, deps: WebDeps): void {
  const path = `${CONNECTED_APPS}/:business/:app/disconnect`;
  type Asked = { Params: { business: string; app: string } };

  host.get<Asked>(path, access('signed_in'), async (request, reply) => {
    const { app, business } = await enterAsOwner(deps, request);
    const counts = await countPeople(deps.storage.durable, { appId: app.id, businessId: business.id }, deps.clock());
    if (counts.people === 0) throw notFound();
    return ask(deps, { request, reply }, everyoneQuestion(app, business, counts));
  });

  host.post<Asked>(path, access('signed_in'), async (request, reply) => {
    const { app, business } = await enterAsOwner(deps, request);
    await end(deps, request, { app, businessId: business.id });
    return redirectWithFlash(reply, CONNECTED_APPS, 'disconnected_everyone');
  });
}

type OwnerRequest = FastifyRequest<{ Params: { business: string; app: string } }>;

/** Only owners get further, and whatever is not of their business is not there. */
async function enterAsOwner({ storage }: WebDeps, request: OwnerRequest): Promise<{ app: App; business: Named }> {
  const { user } = requireSession(request);
  const { business: id, app: appId } = request.params;
  const membership = isId(id) ? await findMembership(storage.durable, user.id, id) : undefined;
  const app = membership?.role === 'owner' ? await findApp(storage.durable, appId) : undefined;
  if (!membership || !app) throw notFound();
  return { app, business: { id, name: membership.businessName } };
}

interface Ending {
  app: App;
  businessId: string;
  /** Whose; without it, everyone's. */
  user?: Named;
}

/** Doing it once more changes nothing, and says the same. What there never was is not there. */
async function end({ storage, clock }: WebDeps, request: FastifyRequest, { app, businessId, user }: Ending) {
  const [actor, now] = [actorOf(request), clock()];
  const reason = user?.id === actor.id ? 'disconnected_by_user' : 'disconnected_by_owner';
  await storage.transaction(async (db) => {
    const people = await disconnect(db, { appId: app.id, businessId, userId: user?.id }, reason, now);
    if (people === undefined) throw notFound();
    if (people === 0) return;
    const subject = { kind: 'app' as const, id: app.id, name: app.name };
    const detail: Record<string, string> = user ? { user: user.name } : { user: 'everyone', people: String(people) };
    await recordAudit(db, { action: 'grant.disconnected', actor, businessId, subject, detail }, now);
  });
}

interface Question {
  title: string;
  body: Html;
  action: string;
}

async function ask(
  deps: WebDeps,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { title, body, action }: Question,
): Promise<FastifyReply> {
  const context = await loadPageContext(deps, request);
  return sendPage(reply, {
    title,
    platformName: deps.platformName,
    width: 'wide',
    context,
    body: html`<div class="card"><h1>${title}</h1>
${body}
<div class="answers"><a class="button secondary" href="${CONNECTED_APPS}">Keep it</a>
${postForm({ action, csrf: context.csrf, body: html`<button class="danger">Disconnect</button>` })}</div></div>`,
  });
}

function personQuestion({ app, user, business, since, lastUsedAt }: Connection): Question {
  return {
    title: `Disconnect ${app.name} for ${user.name}?`,
    action: `${CONNECTED_APPS}/${business.id}/${app.id}/${user.id}/disconnect`,
    body: html`<p>Every token that the app has for ${user.name} in ${business.name} ends at once, and ${app.name} is told that an owner ended it. ${user.name} can allow it again.</p>
<dl class="facts">
<div><dt>Connected since</dt><dd>${time(since)}</dd></div>
<div><dt>Last used</dt><dd>${lastUsedAt === null ? 'Not lately' : time(lastUsedAt)}</dd></div>
</dl>`,
  };
}

function everyoneQuestion(app: App, business: Named, { people, live }: { people: number; live: number }): Question {
  return {
    title: `Disconnect ${app.name} for everyone?`,
    action: `${CONNECTED_APPS}/${business.id}/${app.id}/disconnect`,
    body: html`<p>Every token that the app has in ${business.name} ends at once, and ${app.name} is told that an owner ended it. Anyone can allow it again.</p>
<dl class="facts">
<div><dt>People who have connected it</dt><dd>${people}</dd></div>
<div><dt>For whom it has access now</dt><dd>${live}</dd></div>
</dl>`,
  };
}
