import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { listOwners, type Member } from '../../accounts/memberships.ts';
import type { ConnectionFilter } from '../../grants/connection-rows.ts';
import { type Connection, listConnections } from '../../grants/connections.ts';
import { changeAuthority } from '../../grants/transfers.ts';
import { type Html, html } from '../../lib/html.ts';
import { isId } from '../../lib/ids.ts';
import { formatScopes, parseScopes } from '../../lib/scope-lists.ts';
import { listScopes } from '../../oauth/scopes.ts';
import { access } from '../access.ts';
import { question } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, type Problem, postForm, problemText, text, time, tryForm } from '../forms.ts';
import { sendPage } from '../layout.ts';
import { actorOf } from '../session.ts';
import { authorityPath, CONNECTED_APPS, connectedAppsPath, connectionPath, requireApp } from './disconnecting.ts';
import type { MembersContext } from './members.ts';

type Route = { Params: { app: string; user: string }; Body: Form };

/** Owners decide which of them is responsible for a connection of the business. */
export function mountAuthority(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  const path = `${CONNECTED_APPS}/:app/:user/authority`;

  host.get<Route>(path, access('owner'), async (request, reply) => show(deps, request, reply));

  host.post<Route>(path, access('owner'), async (request, reply) => {
    const { context, app, business } = await requireApp(deps, request);
    const { user: userId } = request.params;
    if (!isId(userId)) throw notFound();
    const [to, scopes] = [text(request.body, 'to'), parseScopes(text(request.body, 'scopes'))];
    const change = async () => {
      const handover = { app, businessId: business.id, userId, to, scopes };
      if (!(await changeAuthority(actorOf(request), storage.durable, handover, clock()))) throw notFound();
      return redirectWithFlash(reply, connectedAppsPath(context.business), 'authority_changed');
    };
    return tryForm(change, (problem) => show(deps, request, reply, problem));
  });
}

async function show(
  deps: WebDeps,
  request: FastifyRequest<Route>,
  reply: FastifyReply,
  problem?: Problem,
): Promise<FastifyReply> {
  const { storage, clock, platformName } = deps;
  const { context, app, business } = await requireApp(deps, request);
  const { user: userId } = request.params;
  if (!isId(userId)) throw notFound();
  const filter: ConnectionFilter = { businessIds: [business.id], appId: app.id, userId, forBusiness: 'only' };
  const [connection] = await listConnections(storage.durable, filter, clock());
  if (!connection) throw notFound();
  const owners = await listOwners(storage.durable, business.id);
  const title = `Who is responsible for ${app.name}?`;
  const body = authorityBody(context, { connection, owners, problem });
  return sendPage(reply, { title, platformName, width: 'wide', context, body }, { status: problem ? 400 : 200 });
}

interface Question {
  connection: Connection;
  owners: Member[];
  problem: Problem | undefined;
}

function authorityBody(context: MembersContext, { connection, owners, problem }: Question): Html {
  const { user: viewer, csrf } = context;
  const { app, user, business, scopes, since } = connection;
  const others = owners.filter(({ id }) => id !== user.id);
  const chosen = (others.find(({ id }) => id === viewer.id) ?? others[0])?.id;
  const option = ({ id, name, email }: Member) =>
    html`<label class="choice"><input type="radio" name="to" value="${id}" required ${id === chosen && html`checked`}><span><strong>${id === viewer.id ? `${name} (you)` : name}</strong><br><span class="muted small">${email}</span></span></label>`;
  const form = html`<input type="hidden" name="scopes" value="${formatScopes(scopes)}">
<fieldset class="field"><legend>Who is responsible for it from now on</legend>${others.map(option)}</fieldset>
<div class="form-actions"><a class="button secondary" href="${connectionPath(connection)}">Cancel</a><button class="primary">Move the connection</button></div>`;
  const body = html`${problem && problemText(problem)}
<p>${app.name} is connected for ${business.name}. <strong>${user.name}</strong> has been responsible for it since ${time(since)}. The app keeps working without interruption; it sees the name and email address of the new person, and is notified.</p>
<h2>What it may do</h2>
<ul class="scopes">${listScopes(scopes).map(({ meaning }) => html`<li>${meaning}</li>`)}</ul>
${others.length > 0 ? postForm({ action: authorityPath(connection), csrf, body: form }) : html`<p class="notice">There is no other owner. Make someone else an owner first.</p><p><a class="button secondary" href="${connectionPath(connection)}">Back</a></p>`}`;
  const back = { to: connectionPath(connection), name: app.name };
  return question({ title: `Who is responsible for ${app.name}?`, back, body });
}
