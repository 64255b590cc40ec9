import type { FastifyReply, FastifyRequest } from 'fastify';
import { requestApproval } from '../../grants/app-requests.ts';
import type { Texts } from '../../languages/en.ts';
import type { Inline } from '../../languages/texts.ts';
import { type Html, html } from '../../lib/html.ts';
import { readReason } from '../../lib/names.ts';
import { findPermission, type Restriction, restrictionError } from '../../oauth/authorize/permission.ts';
import { CallbackError } from '../../oauth/errors.ts';
import { appAvatar } from '../app-identity-views.ts';
import { bdi } from '../components/display.ts';
import type { WebDeps } from '../deps.ts';
import { type Form, input, type Problem, postForm, text, time, tryForm } from '../forms.ts';
import { textsOf } from '../language.ts';
import { sendPage } from '../layout.ts';
import { cspSource } from '../return-to.ts';
import { actorOf } from '../session.ts';
import { plainPermissions } from './scopes.ts';
import { appOwner, type ConsentContext, loadScreen, requestFacts, restart, type Screen } from './screen.ts';
import { isExpired } from './state.ts';

type ShownRestriction = ConsentContext & { restriction: Restriction; problem?: Problem };

/** Shown instead of the consent screen, if the rules of the business do not let the user allow the app. */
export async function showRestriction(
  deps: WebDeps,
  reply: FastifyReply,
  shown: ShownRestriction,
): Promise<FastifyReply> {
  const { platformName, issuer } = deps;
  const { restriction, problem } = shown;
  const screen = await loadScreen(deps, shown);
  const { texts, authRequest } = screen;
  const title = titleOf(screen, restriction, (name) => name);
  const form = { action: '/consent', csrf: screen.context.csrf, body: restrictionForm(screen, shown) };
  const body = html`<div class="card consent"><div class="requester">
<div class="parties" aria-hidden="true">${appAvatar(authRequest.app, 'lg')}</div>
<h1>${titleOf(screen, restriction, bdi)}</h1>
${explanation(screen, restriction, deps.mailer.isOn)}
${appOwner(screen)}
</div>
<h2>${texts.restriction.requestedScopes}</h2>
${plainPermissions(texts, authRequest.scopes)}
${postForm(form)}</div>`;
  const page = { title, texts, platformName, width: 'narrow', runsScript: false, body } as const;
  const formTargets = [cspSource(screen.authRequest.callback.redirectUri), issuer];
  return sendPage(reply, page, { status: problem ? 400 : 200, formTargets });
}

function titleOf(
  { texts: { restriction }, authRequest: { app }, context: { current } }: Screen,
  { kind }: Restriction,
  mark: (name: string) => Inline,
): Html {
  const [name, business] = [mark(app.name), mark(current?.businessName ?? '')];
  if (kind === 'approval_required') return restriction.approvalTitle(name);
  if (kind === 'app_refused') return restriction.refusedTitle(name);
  return kind === 'app_blocked' ? restriction.blockedTitle(name, business) : restriction.roleTitle(name, business);
}

function explanation({ texts, context: { current } }: Screen, restriction: Restriction, isMailOn: boolean): Html {
  const business = bdi(current?.businessName ?? '');
  const words = texts.restriction;
  switch (restriction.kind) {
    case 'app_blocked':
      return html`<p>${words.blocked(business)}</p>${reasonText(texts, restriction.reason)}`;
    case 'app_refused':
      return html`<p>${words.refused(business)}</p>${reasonText(texts, restriction.reason)}
<p>${words.talkToOwner}</p>`;
    case 'role_required':
      return html`<p>${words[restriction.role === 'owner' ? 'ownersOnly' : 'adminsOnly'](business)}</p>`;
    case 'approval_required':
      if (restriction.requestedAt === null) return html`<p>${words.approvedOnly(business)}</p>`;
      return html`<p class="done" role="status">${words.approvalRequested} ${isMailOn ? words.mailFollows : words.seeAccountPage}</p>
<p class="muted">${words.requestedAt(time(restriction.requestedAt, texts))}</p>`;
  }
}

function reasonText({ restriction }: Texts, reason: string): Html | null {
  return reason ? html`<p class="notice">${restriction.reason(bdi(reason))}</p>` : null;
}

function restrictionForm(screen: Screen, { restriction, problem }: ShownRestriction): Html {
  const { texts, authRequest, state, context } = screen;
  const words = texts.restriction;
  const canRequest = restriction.kind === 'approval_required' && restriction.requestedAt === null;
  const note = { name: 'note', label: words.note, hint: words.noteHint };
  return html`<input type="hidden" name="consent_state" value="${state}">
<input type="hidden" name="return_to" value="${context.path}">
${requestFacts(screen)}
${canRequest && input({ ...note, optional: true }, problem)}
<div class="form-actions">
${canRequest && html`<button class="primary" name="decision" value="ask">${words.requestApproval}</button>`}
<button class="secondary" name="decision" value="back"><span>${words.back(bdi(authRequest.app.name))}</span></button>
</div>`;
}

type Submitted = ConsentContext & { request: FastifyRequest<{ Body: Form }> };

/** The user asks for approval, or goes back to the app, which gets the reason as an error. */
export async function submitRestriction(
  deps: WebDeps,
  reply: FastifyReply,
  submitted: Submitted,
): Promise<FastifyReply> {
  const { request, authRequest, session, state, path } = submitted;
  const { businessId } = state;
  const db = deps.storage.durable;
  const { restriction } = await findPermission(db, { request: authRequest, userId: session.user.id, businessId });
  // The owners may have decided in the meantime.
  if (!restriction) return restart(deps, reply, state.query);
  if (text(request.body, 'decision') === 'back')
    throw new CallbackError(authRequest.callback, restrictionError(restriction));
  if (isExpired(state, deps.clock())) return restart(deps, reply, state.query);
  if (restriction.kind !== 'approval_required') return showRestriction(deps, reply, { ...submitted, restriction });
  const submit = async () => {
    const note = readReason('note', text(request.body, 'note'));
    const approval = { app: authRequest.app, businessId, scopes: authRequest.scopes, note };
    const isMember = await requestApproval(actorOf(request), db, approval, deps.clock());
    return isMember ? reply.redirect(path, 303) : restart(deps, reply, state.query);
  };
  const showAgain = (problem: Problem) => showRestriction(deps, reply, { ...submitted, restriction, problem });
  return tryForm(submit, showAgain, textsOf(deps, request));
}
