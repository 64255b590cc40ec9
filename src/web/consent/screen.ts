import type { FastifyReply, FastifyRequest } from 'fastify';
import { findBusiness } from '../../accounts/businesses.ts';
import { findMembership, listMemberships } from '../../accounts/memberships.ts';
import type { Session } from '../../accounts/sessions.ts';
import { type Consent, findConsent } from '../../grants/consents.ts';
import type { ConnectedFor } from '../../grants/transfers.ts';
import type { Texts } from '../../languages/en.ts';
import { type Html, html } from '../../lib/html.ts';
import { isLoopbackHost } from '../../lib/ip-addresses.ts';
import type { Scopes } from '../../lib/scope-lists.ts';
import type { AuthorizationRequest } from '../../oauth/authorize/request.ts';
import { appAvatar, appLinks, verifiedBadge } from '../app-identity-views.ts';
import { businessPath } from '../business-address.ts';
import { avatar, badge, bdi, toast } from '../components/display.ts';
import { ownerNameOf } from '../components/product.ts';
import type { WebDeps } from '../deps.ts';
import { type Problem, postForm } from '../forms.ts';
import { textsOf } from '../language.ts';
import { businessSelect, type Page, type PageContext, sendPage } from '../layout.ts';
import { unverifiedPublisher, verifiedPublisher } from '../publisher.ts';
import { cspSource } from '../return-to.ts';
import { connectedForField } from './connected-for.ts';
import { externalOwner, redirectWarning } from './external.ts';
import { earlierConsent, requestedScopes } from './scopes.ts';
import { type ConsentState, signConsentState } from './state.ts';
import { day, endField, findEndChoices } from './until.ts';

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
  /** As chosen before the screen was shown again. */
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
  const until = endField({ texts: screen.texts, choices, selected: ends, appName: authRequest.app.name, problem });
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
  const texts = textsOf(deps, request);
  return {
    texts,
    platformName,
    authRequest,
    ownerName: ownerNameOf(authRequest.app, owner?.name, platformName, texts),
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
  texts: Texts;
  platformName: string;
  authRequest: AuthorizationRequest;
  ownerName: string;
  /** Signed. */
  state: string;
  /** The origins of this server. */
  sites: string[];
  context: PageContext;
}

export interface ConsentScreen extends Screen {
  /** What the user has allowed or declined before. */
  consent: Consent;
  /** All scopes that Allow can grant, with those that the user allowed before and the app does not request again. */
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
  const { texts, platformName, authRequest, state, context } = screen;
  const { consent } = texts;
  const { name } = authRequest.app;
  const businessName = context.current?.businessName ?? '';
  return {
    title: consent.title(name, businessName),
    texts,
    platformName,
    width: 'narrow',
    // The script delays Allow against clickjacking.
    runsScript: true,
    body: html`<div class="card consent split">
<div class="requester">
<div class="parties" aria-hidden="true">${appAvatar(authRequest.app, 'lg')}<span class="wire"></span>${avatar({ name: businessName, id: context.current?.businessId ?? '', shape: 'square', size: 'lg' })}</div>
<h1>${consent.title(html`<strong>${bdi(name)}</strong>`, html`<strong>${bdi(businessName)}</strong>`)}</h1>
${screen.isSwitched && toast(consent.switched(businessName))}
${appOwner(screen)}
${earlierConsent(screen)}
</div>
${postForm({
  action: '/consent',
  csrf: context.csrf,
  body: html`<input type="hidden" name="consent_state" value="${state}">
<input type="hidden" name="return_to" value="${context.path}">
<div class="decision">
${requestedScopes(screen)}
${terms(screen)}
<p class="small muted small-print">${smallPrint(screen)}</p>
</div>
${requestFacts(screen)}
<div class="form-actions">
<button class="secondary" name="decision" value="deny">${consent.deny}</button>
<button class="primary" name="decision" value="allow" data-delayed>${consent.allow}</button>
</div>`,
})}
</div>`,
  };
}

function smallPrint({ texts, context: { current } }: ConsentScreen): Html {
  const path = current ? businessPath(current, 'connected-apps') : '/';
  const link = (text: string) => html`<a href="${path}">${text}</a>`;
  return texts.consent.smallPrint(bdi(current?.businessName ?? ''), link);
}

/** For whom and until when. */
function terms(screen: ConsentScreen): Html | null {
  const connectedFor = connectedForField(screen);
  return connectedFor || screen.until ? html`<div class="terms">${connectedFor}${screen.until}</div>` : null;
}

/** Apps of the platform show no consent screen, unless they are public. */
export function appOwner({ texts, authRequest: { app, callback }, ownerName, platformName, context }: Screen): Html {
  const { consent } = texts;
  const { redirectUri } = callback;
  if (app.ownerScope === 'external') return externalOwner({ texts, app, redirectUri, platformName });
  const warning = app.isPublic && redirectWarning(texts, app, redirectUri);
  const [name, platform] = [bdi(app.name), bdi(platformName)];
  const links = appLinks(app.identity, texts);
  if (app.ownerScope === 'platform') {
    return html`<p class="muted">${consent.byPlatform(name, platform)}</p>${links}${warning}`;
  }
  const publisher = verifiedPublisher(app, ownerName);
  const { memberships } = context;
  const by = publisher
    ? consent.byPublisher(name, bdi(publisher), platform)
    : html`${unverifiedPublisher(app, ownerName, { memberships, platformName }, texts)} ${consent.notChecked(platform)}`;
  return html`<p class="muted">${by}</p>
<p class="muted status">${verifiedBadge(app, texts) ?? badge(consent.notVerified, 'warn')} <span>${consent.registered(day(texts, app.createdAt))}</span></p>
${links}${warning}`;
}

export function requestFacts({ texts, authRequest, context, sites }: Screen): Html {
  const { consent, signIn } = texts;
  const isBound = authRequest.businessId !== null;
  // In ASCII: an internationalised name that imitates a known one is shown as xn--.
  const { host, hostname, origin, protocol } = new URL(authRequest.callback.redirectUri);
  // What follows a private-use scheme is not a host, even if it looks like one.
  const isPrivate = origin === 'null';
  const whose = sites.includes(origin)
    ? consent.thisSite
    : (isPrivate || isLoopbackHost(hostname)) && consent.thisComputer;
  return html`<dl class="facts">
<div><dt>${consent.business}</dt><dd>${isBound ? context.current?.businessName : businessChoice(texts, context)}</dd></div>
<div><dt>${consent.signedInAs}</dt><dd>${context.user.name}<br><span class="muted">${context.user.email}</span><br><a class="small" href="/sign-in?return_to=${encodeURIComponent(context.path)}">${signIn.anotherAccount}</a></dd></div>
<div><dt>${consent.sentTo}</dt><dd><strong>${isPrivate ? protocol : host}</strong>${whose && html`<br><span class="muted">${whose}</span>`}</dd></div>
</dl>`;
}

/** In characters, on a phone. */
const MAX_SELECT_LENGTH = 16;

/** In the same form as Allow, so that Allow submits the selected business even if Switch was not clicked. */
function businessChoice(texts: Texts, context: PageContext): Html {
  if (context.memberships.length < 2) return html`${context.current?.businessName}`;
  const { businessName = '' } = context.current ?? {};
  // A select cuts off a name that does not fit, so the whole name is shown above it.
  const whole = businessName.length > MAX_SELECT_LENGTH && html`<p class="whole">${businessName}</p>`;
  return html`${whole}<div class="switch">${businessSelect(texts, context)}<button class="quiet" name="decision" value="switch">${texts.consent.switch}</button></div>`;
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
export function restart(deps: WebDeps, reply: FastifyReply, query: string): FastifyReply {
  return reply.redirect(authorizeUrl(deps, query), 303);
}

export function authorizeUrl({ issuer }: WebDeps, query: string): string {
  return `${issuer}/api/v1/oauth/authorize?${query}`;
}
