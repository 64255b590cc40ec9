import type { FastifyReply, FastifyRequest } from 'fastify';
import { findBusiness } from '../accounts/businesses.ts';
import { findMembership, listMemberships } from '../accounts/memberships.ts';
import type { Session } from '../accounts/sessions.ts';
import { type Consent, findConsent } from '../grants/consents.ts';
import { undecidedScopes } from '../grants/requested-scopes.ts';
import type { ConnectedFor } from '../grants/transfers.ts';
import { type Html, html } from '../lib/html.ts';
import { isLoopbackHost } from '../lib/ip-addresses.ts';
import { commonScopes, type Scopes } from '../lib/scope-lists.ts';
import type { AuthorizationRequest } from '../oauth/authorize/request.ts';
import { listScopes, type Scope } from '../oauth/scopes.ts';
import { appAvatar, appLinks, publisherName, verifiedBadge } from './app-identity-views.ts';
import { businessPath } from './business-address.ts';
import { avatar, toast } from './components/display.ts';
import { makerName } from './components.ts';
import { externalOwner, redirectWarning } from './consent-external.ts';
import { forWhomChoice } from './consent-for-whom.ts';
import { type ConsentState, signConsentState } from './consent-state.ts';
import { endField, findEndChoices } from './consent-until.ts';
import type { WebDeps } from './deps.ts';
import { ariaAttributes, type Problem, postForm, problemText } from './forms.ts';
import { businessSelect, type Page, type PageContext, sendPage } from './layout.ts';
import { cspSource } from './return-to.ts';

export interface ConsentContext {
  request: FastifyRequest;
  authRequest: AuthorizationRequest;
  session: Session;
  state: ConsentState;
  /** The URL that opens this screen again. */
  path: string;
}

interface ShownConsent extends ConsentContext {
  consent: Consent;
  ticked: Scopes;
  /** As chosen on the screen before. */
  connectedFor?: ConnectedFor;
  /** The value of the selected end, if it is not the default. */
  ends?: string;
  /** Whether the user has just switched to this business on the screen. */
  isSwitched?: boolean;
  problem?: Problem;
}

export async function showConsent(deps: WebDeps, reply: FastifyReply, shown: ShownConsent): Promise<FastifyReply> {
  const { authRequest, consent, ticked, connectedFor, ends = '', isSwitched = false, problem } = shown;
  const { scopes } = shown.state;
  const screen = await loadScreen(deps, shown);
  const choices = await findEndChoices(deps, consent);
  const until = endField({ choices, selected: ends, appName: authRequest.app.name, problem });
  const page = consentScreen({ ...screen, consent, shown: scopes, ticked, connectedFor, until, isSwitched, problem });
  const formTargets = [cspSource(authRequest.callback.redirectUri), deps.issuer];
  return sendPage(reply, page, { status: problem ? 400 : 200, formTargets });
}

/** What the consent screen and the pages in its place show. */
export async function loadScreen(deps: WebDeps, shown: ConsentContext): Promise<Screen> {
  const { storage, keys, platformName, issuer, consentUrl } = deps;
  const { request, authRequest, session, state, path } = shown;
  const db = storage.durable;
  const owner = await findBusiness(db, authRequest.app.ownerBusinessId ?? '');
  return {
    platformName,
    authRequest,
    ownerName: makerName(authRequest.app, owner?.name, platformName),
    state: signConsentState(keys, state),
    sites: [issuer, consentUrl],
    context: {
      user: session.user,
      csrf: request.csrfToken,
      current: await findMembership(db, session.user.id, state.businessId),
      memberships: await listMemberships(db, session.user.id),
      path,
    },
  };
}

export interface Screen {
  platformName: string;
  authRequest: AuthorizationRequest;
  ownerName: string;
  /** Signed. */
  state: string;
  /** The origins of this server. */
  sites: string[];
  context: PageContext;
}

interface ConsentScreen extends Screen {
  /** What the user has allowed or declined before. */
  consent: Consent;
  /** All that Allow can grant, also what the user allowed before and the app does not ask for again. */
  shown: Scopes;
  /** The optional scopes that are ticked. */
  ticked: Scopes;
  connectedFor: ConnectedFor | undefined;
  /** The field for the end of the connection. */
  until: Html | null;
  /** Whether the user has just switched to this business on the screen. */
  isSwitched: boolean;
  problem: Problem | undefined;
}

function consentScreen(screen: ConsentScreen): Page {
  const { platformName, authRequest, state, context } = screen;
  const { name } = authRequest.app;
  const businessName = context.current?.businessName ?? '';
  return {
    title: `${name} wants to access ${businessName}`,
    platformName,
    width: 'narrow',
    // The script delays Allow against clickjacking.
    runsScript: true,
    body: html`<div class="card consent">
<div class="parties" aria-hidden="true">${appAvatar(authRequest.app, 'lg')}<span class="wire"></span>${avatar({ name: businessName, id: context.current?.businessId ?? '', shape: 'square', size: 'lg' })}</div>
<h1><strong>${name}</strong> wants to access <strong>${businessName}</strong></h1>
${screen.isSwitched && toast(`You chose ${businessName}. Check the request, then allow.`)}
${appOwner(screen)}
${earlierConsent(screen)}
${postForm({
  action: '/consent',
  csrf: context.csrf,
  body: html`<input type="hidden" name="consent_state" value="${state}">
<input type="hidden" name="return_to" value="${context.path}">
${requestedScopes(screen)}
${screen.until}
${requestFacts(screen)}
${forWhomChoice(screen)}
<div class="form-actions">
<button class="secondary" name="decision" value="deny">Deny</button>
<button class="primary" name="decision" value="allow" data-delayed>Allow</button>
</div>`,
})}
<p class="small muted">${name} can see your name and email address. ${name} never sees your password. What you allow is for ${businessName} only. You can disconnect ${name} at any time, under <a href="${context.current ? businessPath(context.current, 'connected-apps') : '/'}">Connected apps</a>.</p>
</div>`,
  };
}

/** Apps of the platform show no consent screen, unless they are public. */
export function appOwner({ authRequest: { app, callback }, ownerName, platformName }: Screen): Html {
  if (app.ownerScope === 'external') return externalOwner({ app, redirectUri: callback.redirectUri, platformName });
  const warning = app.isPublic && redirectWarning(app, callback.redirectUri);
  if (app.ownerScope === 'platform') {
    return html`<p class="muted">${app.name} is an app by ${platformName}.</p>${appLinks(app.identity)}${warning}`;
  }
  return html`<p class="muted">${app.name} is an app by ${publisherName(app, ownerName)}. It is not made by ${platformName}.</p>
<p class="muted">${verifiedBadge(app) ?? html`<span class="badge">Third-party app</span>`} Registered on ${day(app.createdAt)}</p>
${appLinks(app.identity)}${warning}`;
}

function earlierConsent({ authRequest, consent }: ConsentScreen): Html | null {
  if (!isAddition(authRequest, consent)) return null;
  const canNarrow = commonScopes(authRequest.optionalScopes, consent.allowed).length > 0;
  return html`<p class="notice">You have allowed this app before. What it asks for in addition is marked <span class="new">New</span>.
${canNarrow && html`It keeps what you allowed before until you disconnect it, even if you untick it here.`}
${!canNarrow && authRequest.resource !== null && html`It keeps what you allowed before until you disconnect it.`}</p>`;
}

/** At a resource of its own, the new grant has what was allowed before, too. */
function isAddition({ scopes, resource }: AuthorizationRequest, { allowed }: Consent): boolean {
  return (resource === null ? commonScopes(scopes, allowed) : allowed).length > 0;
}

function requestedScopes(screen: ConsentScreen): Html {
  const { authRequest } = screen;
  const problem = screen.problem?.field === 'optional_scope' ? screen.problem : undefined;
  const hint =
    authRequest.optionalScopes.length > 0
      ? 'Untick what you do not want to allow. The app works without it.'
      : undefined;
  return html`<fieldset class="field" ${ariaAttributes('optional_scope', { hint, wrong: problem !== undefined })}>
<legend class="visually-hidden">What ${authRequest.app.name} asks for</legend>
${scopeList('What it may see', 'read', screen)}
${scopeList('What it may change', 'write', screen)}
${hint && html`<p class="hint" id="optional_scope-hint">${hint}</p>`}
${problem && problemText(problem)}
</fieldset>`;
}

function scopeList(heading: string, kind: Scope['kind'], screen: ConsentScreen): Html | null {
  const { authRequest, consent, ticked, shown } = screen;
  const listed = listScopes(shown).filter((scope) => scope.kind === kind);
  if (listed.length === 0) return null;
  const fresh = isAddition(authRequest, consent) ? undecidedScopes(authRequest, consent) : [];
  return html`<h2>${heading}</h2>
<ul class="scopes ${kind}">${listed.map(({ name, meaning }) => {
    const mark = fresh.includes(name) && html`<span class="new">New</span>`;
    if (!authRequest.optionalScopes.includes(name)) return html`<li>${meaning} ${mark}</li>`;
    return html`<li class="optional"><label class="choice"><input type="checkbox" name="optional_scope" value="${name}" ${ticked.includes(name) && html`checked`}><span>${meaning} <span class="muted">(optional)</span> ${mark}</span></label></li>`;
  })}</ul>`;
}

export function requestFacts({ authRequest, context, sites }: Screen): Html {
  const isBound = authRequest.businessId !== null;
  // In ASCII: an internationalised name that imitates a known one is shown as xn--.
  const { host, hostname, origin, protocol } = new URL(authRequest.callback.redirectUri);
  // What follows a private-use scheme is no host, whatever it looks like.
  const isPrivate = origin === 'null';
  const whose = sites.includes(origin)
    ? 'A page of this site'
    : (isPrivate || isLoopbackHost(hostname)) && 'A program on this computer';
  return html`<dl class="facts">
<div><dt>Business</dt><dd>${isBound ? context.current?.businessName : businessChoice(context)}</dd></div>
<div><dt>Signed in as</dt><dd>${context.user.name}<br><span class="muted">${context.user.email}</span><br><a class="small" href="/sign-in?return_to=${encodeURIComponent(context.path)}">Use another account</a></dd></div>
<div><dt>You will be sent to</dt><dd><strong>${isPrivate ? protocol : host}</strong>${whose && html`<br><span class="muted">${whose}</span>`}</dd></div>
</dl>`;
}

/** In the same form as Allow, so that Allow submits the selected business even if Switch was not clicked. */
function businessChoice(context: PageContext): Html {
  if (context.memberships.length < 2) return html`${context.current?.businessName}`;
  // A select cuts off a name that does not fit, so the whole name is shown above it.
  return html`<p class="whole">${context.current?.businessName}</p><div class="switch">${businessSelect(context)}<button class="quiet" name="decision" value="switch">Switch</button></div>`;
}

/** In UTC: the server does not know the time zone of the user. Creating a format takes longer than the rest of the screen. */
const LONG_DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

function day(milliseconds: number): Html {
  const date = new Date(milliseconds);
  return html`<time datetime="${date.toISOString().slice(0, 10)}">${LONG_DATE.format(date)}</time>`;
}

export function findEarlierConsent(
  { storage, clock }: WebDeps,
  { app }: AuthorizationRequest,
  { user }: Session,
  businessId: string,
) {
  return findConsent(storage.durable, { userId: user.id, appId: app.id, businessId }, clock());
}

/** Through the authorize endpoint, which checks the request again and appends a new timestamp. */
export function restart({ issuer }: WebDeps, reply: FastifyReply, query: string): FastifyReply {
  return reply.redirect(`${issuer}/api/v1/oauth/authorize?${query}`, 303);
}
