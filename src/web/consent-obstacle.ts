import type { FastifyReply, FastifyRequest } from 'fastify';
import { requestApproval } from '../grants/app-requests.ts';
import { type Html, html } from '../lib/html.ts';
import { readReason } from '../lib/names.ts';
import { findPermission, type Obstacle, obstacleError } from '../oauth/authorize/permission.ts';
import { CallbackError } from '../oauth/errors.ts';
import { appAvatar } from './app-identity-views.ts';
import { plainPermissions } from './consent-scopes.ts';
import { appOwner, type ConsentContext, loadScreen, requestFacts, restart, type Screen } from './consent-screen.ts';
import { isExpired } from './consent-state.ts';
import type { WebDeps } from './deps.ts';
import { type Form, input, type Problem, postForm, text, time, tryForm } from './forms.ts';
import { sendPage } from './layout.ts';
import { cspSource } from './return-to.ts';
import { actorOf } from './session.ts';

type ShownObstacle = ConsentContext & { obstacle: Obstacle; problem?: Problem };

/** Shown instead of the consent screen, if the rules of the business do not let the user allow the app. */
export async function showObstacle(deps: WebDeps, reply: FastifyReply, shown: ShownObstacle): Promise<FastifyReply> {
  const { platformName, issuer } = deps;
  const { obstacle, problem } = shown;
  const screen = await loadScreen(deps, shown);
  const title = titleOf(screen, obstacle);
  const form = { action: '/consent', csrf: screen.context.csrf, body: obstacleForm(screen, shown) };
  const body = html`<div class="card consent"><div class="asker">
<div class="parties" aria-hidden="true">${appAvatar(screen.authRequest.app, 'lg')}</div>
<h1>${title}</h1>
${explanation(screen, obstacle, deps.mailer.isOn)}
${appOwner(screen)}
</div>
<h2>What it asks for</h2>
${plainPermissions(screen.authRequest.scopes)}
${postForm(form)}</div>`;
  const page = { title, platformName, width: 'narrow', runsScript: false, body } as const;
  const formTargets = [cspSource(screen.authRequest.callback.redirectUri), issuer];
  return sendPage(reply, page, { status: problem ? 400 : 200, formTargets });
}

function titleOf({ authRequest: { app }, context: { current } }: Screen, { kind }: Obstacle): string {
  if (kind === 'approval_required') return `An owner has to approve ${app.name}`;
  if (kind === 'app_refused') return `An owner has refused ${app.name}`;
  if (kind === 'app_blocked') return `${app.name} is blocked in ${current?.businessName}`;
  return `You cannot connect ${app.name} to ${current?.businessName}`;
}

function explanation({ context: { current } }: Screen, obstacle: Obstacle, isMailOn: boolean): Html {
  const business = current?.businessName;
  switch (obstacle.kind) {
    case 'app_blocked':
      return html`<p>An owner of ${business} has blocked this app, so nobody can connect it.</p>${reasonText(obstacle.reason)}`;
    case 'app_refused':
      return html`<p>An owner of ${business} has refused your request.</p>${reasonText(obstacle.reason)}
<p>If you need the app for your work, talk to an owner. They can take their decision back.</p>`;
    case 'role_required':
      return obstacle.role === 'owner'
        ? html`<p>It asks for data about staff or money. In ${business}, only owners may allow that. Ask an owner to connect the app.</p>`
        : html`<p>Only owners and admins connect apps to ${business}. Ask one of them to connect it.</p>`;
    case 'approval_required':
      if (obstacle.requestedAt === null)
        return html`<p>${business} lets in only apps that an owner has approved. You can ask for this one.</p>`;
      return html`<p class="done" role="status">You asked for approval. ${isMailOn ? 'You get a mail when an owner has decided.' : 'Your account page shows what an owner decides.'}</p>
<p class="muted">Asked ${time(obstacle.requestedAt)}. Once it is approved, go back to the app and connect it again.</p>`;
  }
}

function reasonText(reason: string): Html | null {
  return reason ? html`<p class="notice">Their reason: ${reason}</p>` : null;
}

function obstacleForm(screen: Screen, { obstacle, problem }: ShownObstacle): Html {
  const { authRequest, state, context } = screen;
  const canAsk = obstacle.kind === 'approval_required' && obstacle.requestedAt === null;
  const note = { name: 'note', label: 'Why you need it (optional)', hint: 'Owners see it with your request.' };
  return html`<input type="hidden" name="consent_state" value="${state}">
<input type="hidden" name="return_to" value="${context.path}">
${requestFacts(screen)}
${canAsk && input({ ...note, optional: true }, problem)}
<div class="form-actions">
<button class="secondary" name="decision" value="back">Back to ${authRequest.app.name}</button>
${canAsk && html`<button class="primary" name="decision" value="ask">Ask for approval</button>`}
</div>`;
}

type Submitted = ConsentContext & { request: FastifyRequest<{ Body: Form }> };

/** The user asks for approval, or goes back to the app, which learns why it was not allowed. */
export async function submitObstacle(deps: WebDeps, reply: FastifyReply, submitted: Submitted): Promise<FastifyReply> {
  const { request, authRequest, session, state, path } = submitted;
  const { businessId } = state;
  const db = deps.storage.durable;
  const { obstacle } = await findPermission(db, { request: authRequest, userId: session.user.id, businessId });
  // The owners may have decided in the meantime.
  if (!obstacle) return restart(deps, reply, state.query);
  if (text(request.body, 'decision') === 'back') throw new CallbackError(authRequest.callback, obstacleError(obstacle));
  if (isExpired(state, deps.clock())) return restart(deps, reply, state.query);
  if (obstacle.kind !== 'approval_required') return showObstacle(deps, reply, { ...submitted, obstacle });
  const ask = async () => {
    const note = readReason('note', text(request.body, 'note'));
    const asked = { app: authRequest.app, businessId, scopes: authRequest.scopes, note };
    const isMember = await requestApproval(actorOf(request), db, asked, deps.clock());
    return isMember ? reply.redirect(path, 303) : restart(deps, reply, state.query);
  };
  return tryForm(ask, (problem) => showObstacle(deps, reply, { ...submitted, obstacle, problem }));
}
