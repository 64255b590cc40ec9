import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { listOwners, type Member } from '../../accounts/memberships.ts';
import type { ConnectionFilter } from '../../grants/connection-rows.ts';
import { type Connection, listConnections } from '../../grants/connections.ts';
import { findHandover, type Handover } from '../../grants/handover-rows.ts';
import { type Answer, answerHandover, changeAuthority } from '../../grants/handovers.ts';
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
      const outcome = await changeAuthority(actorOf(request), storage.durable, handover, clock());
      if (!outcome) throw notFound();
      const flash = outcome === 'moved' ? 'authority_changed' : 'handover_offered';
      return redirectWithFlash(reply, connectedAppsPath(context.business), flash);
    };
    return tryForm(change, (problem) => show(deps, request, reply, problem));
  });

  host.post<Route>(`${path}/answer`, access('admin'), async (request, reply) => {
    const { context, app, business } = await requireApp(deps, request);
    const { user: userId } = request.params;
    const answer = text(request.body, 'answer');
    if (!isId(userId) || !isAnswer(answer)) throw notFound();
    const give = async () => {
      const about = { app, businessId: business.id, userId, answer };
      if (!(await answerHandover(actorOf(request), storage.durable, about, clock()))) throw notFound();
      return redirectWithFlash(reply, connectedAppsPath(context.business), FLASHES[answer]);
    };
    return tryForm(give, (problem) => show(deps, request, reply, problem));
  });
}

const FLASHES = {
  accept: 'authority_changed',
  decline: 'handover_declined',
  withdraw: 'handover_withdrawn',
} as const;

function isAnswer(text: string): text is Answer {
  return Object.hasOwn(FLASHES, text);
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
  const key = { appId: app.id, businessId: business.id, userId };
  const handover = await findHandover(storage.durable, key, clock());
  const body = authorityBody(context, { connection, owners, handover, problem });
  return sendPage(reply, { title, platformName, width: 'wide', context, body }, { status: problem ? 400 : 200 });
}

interface Question {
  connection: Connection;
  owners: Member[];
  handover: Handover | undefined;
  problem: Problem | undefined;
}

function authorityBody(context: MembersContext, asked: Question): Html {
  const { app, user, business, scopes, since } = asked.connection;
  const body = html`${asked.problem && problemText(asked.problem)}
<p>${app.name} is connected for ${business.name}. <strong>${user.name}</strong> has been responsible for it since ${time(since)}. The app keeps working without interruption; it sees the name and email address of the new person, and is notified.</p>
<h2>What it may do</h2>
<ul class="scopes">${listScopes(scopes).map(({ meaning }) => html`<li>${meaning}</li>`)}</ul>
${asked.handover ? answerForm(context, asked.connection, asked.handover, asked.owners) : choiceForm(context, asked)}`;
  const back = { to: connectionPath(asked.connection), name: app.name };
  return question({ title: `Who is responsible for ${app.name}?`, back, body });
}

function choiceForm({ user: viewer, csrf }: MembersContext, { connection, owners }: Question): Html {
  const { user, scopes } = connection;
  const back = connectionPath(connection);
  const others = owners.filter(({ id }) => id !== user.id);
  const chosen = (others.find(({ id }) => id === viewer.id) ?? others[0])?.id;
  if (others.length === 0) {
    return html`<p class="notice">There is no other owner. Make someone else an owner first.</p>
<p><a class="button secondary" href="${back}">Back</a></p>`;
  }
  const option = ({ id, name, email }: Member) =>
    html`<label class="choice"><input type="radio" name="to" value="${id}" required ${id === chosen && html`checked`}><span><strong>${id === viewer.id ? `${name} (you)` : name}</strong><br><span class="muted small">${email}</span></span></label>`;
  const body = html`<input type="hidden" name="scopes" value="${formatScopes(scopes)}">
<fieldset class="field"><legend>Who is to be responsible for it</legend>${others.map(option)}</fieldset>
<p class="muted">Another owner has to accept within 7 days. Until then, ${user.name} stays responsible.</p>
<div class="form-actions"><a class="button secondary" href="${back}">Cancel</a><button class="primary">Move the connection</button></div>`;
  return postForm({ action: authorityPath(connection), csrf, body });
}

/** For the owner who was asked, or for those who wait for the answer. */
function answerForm(
  { user: viewer, csrf }: MembersContext,
  connection: Connection,
  { to, expiresAt }: Handover,
  owners: Member[],
): Html {
  const action = `${authorityPath(connection)}/answer`;
  const button = (answer: Answer, label: string, style: string) =>
    html`<button class="${style}" name="answer" value="${answer}">${label}</button>`;
  if (to === viewer.id) {
    const body = html`<div class="form-actions">${button('decline', 'Decline', 'secondary')}${button('accept', 'Accept', 'primary')}</div>`;
    return html`<p class="notice">You are asked to become responsible for it, until ${time(expiresAt)}. If you accept, what it may do counts as allowed by you.</p>
${postForm({ action, csrf, body })}`;
  }
  const name = owners.find(({ id }) => id === to)?.name ?? 'Another owner';
  return html`<p class="notice">${name} was asked to become responsible for it, and can accept until ${time(expiresAt)}.</p>
${postForm({ action, csrf, body: html`<div class="form-actions">${button('withdraw', 'Withdraw', 'secondary')}</div>` })}`;
}
