import { isDynamicClientId } from '../../apps/dynamic-client-ids.ts';
import { type AppDecision, listAppDecisions } from '../../grants/app-decision-list.ts';
import { type AppPolicy, readBusinessPolicy, WHO_CONNECTS, type WhoConnects } from '../../grants/app-policies.ts';
import { listDecidedRequests, listWaitingRequests } from '../../grants/app-request-list.ts';
import type { AppRequest, DescribedApp } from '../../grants/app-requests.ts';
import { type Html, html } from '../../lib/html.ts';
import { isLoopbackHost } from '../../lib/ip-addresses.ts';
import { formatScopes, type Scopes } from '../../lib/scope-lists.ts';
import { listScopes, SCOPES } from '../../oauth/scopes.ts';
import { businessPath } from '../business-address.ts';
import { avatar, badge, emptyState, notice } from '../components/display.ts';
import { ownerNameOf } from '../components/product.ts';
import { pageHead, section, settings } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { input, type Problem, postForm, problemText, time } from '../forms.ts';
import { publisherLine } from '../publisher.ts';
import type { MembersContext } from './members.ts';

export function appRulesPath({ business }: Pick<MembersContext, 'business'>): string {
  return businessPath(business, 'settings/apps');
}

export async function appRulesBody(
  { storage, platformName }: WebDeps,
  context: MembersContext,
  problem?: Problem,
): Promise<Html> {
  const db = storage.durable;
  const { businessId, businessName } = context.business;
  const policy = await readBusinessPolicy(db, businessId);
  const waiting = await listWaitingRequests(db, businessId);
  const decided = await listDecidedRequests(db, businessId);
  const decisions = await listAppDecisions(db, businessId);
  const requests = requestSection(context, waiting, platformName);
  return html`${pageHead({
    title: 'Apps',
    intro: html`Which apps may connect to ${businessName}. Connected apps are listed under <a href="${businessPath(context.business, 'connected-apps')}">Connected apps</a>.`,
    back: { to: businessPath(context.business, 'settings'), name: 'Business' },
  })}
${problem && problem.field !== 'who' && html`<div class="notice warn" role="alert">${problemText(problem)}</div>`}
${waiting.length > 0 && requests}
${settings({
  title: 'Who may connect apps',
  intro:
    !policy.isOwn && !policy.isBinding && `You are using the default of ${platformName}. Saving sets your own rule.`,
  body: policy.isBinding
    ? html`${notice(`${platformName} has decided this for every business.`)}<p>${WHO_NAMES[policy.who]}. ${policy.reservesSensitive && 'Data about staff and money is reserved to owners.'}</p>`
    : policyForm({
        action: `${appRulesPath(context)}/policy`,
        csrf: context.csrf,
        policy,
        problem,
        button: waiting.length === 0 ? 'primary' : 'secondary',
      }),
})}
${waiting.length === 0 && requests}
${decisions.length + decided.length > 0 && decisionList(context, { decisions, decided, platformName })}`;
}

function requestSection(context: MembersContext, waiting: AppRequest[], platformName: string): Html {
  return settings({
    title: 'Requests',
    intro: 'Apps that members would like to connect.',
    body:
      waiting.length === 0
        ? emptyState({ icon: 'blocks', text: 'No requests are waiting for approval.' })
        : html`<ul class="rows">${waiting.map((request) => requestRow(context, request, platformName))}</ul>`,
  });
}

const WHO_NAMES: Record<WhoConnects, string> = {
  anyone: 'Every member may connect any app',
  approved: 'Members may connect only apps that an owner has approved',
  admins: 'Only owners and admins may connect apps',
};

const WHO_HINTS: Record<WhoConnects, string> = {
  anyone: 'Except for apps that you block.',
  approved: 'Members and admins can ask for an app; their requests are listed here. Owners connect any app.',
  admins: 'Members see whom to ask.',
};

interface PolicyForm {
  action: string;
  csrf: string;
  policy: AppPolicy;
  problem?: Problem | undefined;
  /** What each choice means to the reader; by default to an owner. */
  hints?: Record<WhoConnects, string>;
  /** Before the button. */
  more?: Html;
  /** The style of the button, of which a page has one that is filled. */
  button?: 'primary' | 'secondary';
}

/** For owners and for platform admins. */
export function policyForm({
  action,
  csrf,
  policy,
  problem,
  hints = WHO_HINTS,
  more,
  button = 'primary',
}: PolicyForm): Html {
  const sensitive = SCOPES.filter(({ isSensitive }) => isSensitive).map(({ meaning }) => meaning);
  const body = html`<fieldset class="field"><legend class="visually-hidden">Who may connect apps</legend>
${problem?.field === 'who' && problemText(problem)}
${WHO_CONNECTS.map(
  (who) =>
    html`<label class="choice"><input type="radio" name="who" value="${who}" required ${who === policy.who && html`checked`}><span><strong>${WHO_NAMES[who]}</strong><br><span class="muted small">${hints[who]}</span></span></label>`,
)}
</fieldset>
<label class="choice"><input type="checkbox" name="reserves" value="yes" ${policy.reservesSensitive && html`checked`}><span><strong>Only owners may allow data about staff and money</strong><br><span class="muted small">${sensitive.join('. ')}.</span></span></label>
${more}<p class="muted small">Apps that are connected already stay connected.</p>
<button class="${button}">Save</button>`;
  return postForm({ action, csrf, body });
}

function requestRow(context: MembersContext, request: AppRequest, platformName: string): Html {
  const { appId, userId, app, userName, userEmail, scopes, note, requestedAt } = request;
  const isOwn = userId === context.user.id;
  return html`<li>${avatar({ id: appId, name: app.name, shape: 'square' })}<div><h3>${app.name}</h3>
${appOrigin(context, app, { owner: request.ownerName, platformName })}
<p class="small"><strong>${userName}</strong> (${userEmail}) asked ${time(requestedAt)}.</p>
${note && html`<blockquote>${note}</blockquote>`}
${scopeList(scopes, 'requested')}
${isOwn ? html`<p class="notice">Another owner has to decide about your own request.</p>` : decisionForms(context, request)}</div></li>`;
}

/** Two forms, so that Enter in the field of the reason does not approve. */
function decisionForms(context: MembersContext, { appId, userId, userName, scopes }: AppRequest): Html {
  const form = (body: Html) =>
    postForm({
      action: `${appRulesPath(context)}/${appId}/requests/${userId}`,
      csrf: context.csrf,
      body: html`<input type="hidden" name="scopes" value="${formatScopes(scopes)}">${body}`,
    });
  return html`${form(html`<div class="actions decisions"><button class="primary" name="decision" value="approve_all">Approve for everyone</button>
<button name="decision" value="approve_person">Approve for ${userName}</button></div>`)}
<details><summary>Refuse…</summary>${form(html`${input({ name: 'reason', label: 'Reason (optional)', hint: `${userName} sees it.`, optional: true })}
<div class="actions decisions"><button class="danger" name="decision" value="refuse">Refuse</button></div>`)}</details>`;
}

/** Anyone can choose the name of an app that is not registered here, so owners see where it sends its users. */
function appOrigin(
  { memberships }: MembersContext,
  app: DescribedApp,
  { owner, platformName }: { owner: string | null; platformName: string },
): Html {
  if (app.ownerScope === 'business')
    return html`<p class="muted small">${publisherLine(app, owner ?? '', { memberships, platformName })}</p>`;
  const by = isDynamicClientId(app.externalClientId ?? '')
    ? 'Registered itself; its name is not verified'
    : `By ${ownerNameOf(app, owner, platformName)}`;
  if (app.ownerScope !== 'external') return html`<p class="muted small">${by}</p>`;
  const targets = [...new Set(app.redirectUris.map(targetOf))];
  return html`<p class="muted small">${by}. It sends people to ${targets.join(', ')}.</p>`;
}

function targetOf(redirectUri: string): string {
  const { protocol, hostname, host } = new URL(redirectUri);
  return isLoopbackHost(hostname) || !protocol.startsWith('http') ? 'a program on their device' : host;
}

/** A tick marks what is approved. */
function scopeList(scopes: Scopes, status: 'requested' | 'approved' = 'approved'): Html {
  return html`<ul class="scopes ${status === 'requested' && status}">${listScopes(scopes).map(({ meaning }) => html`<li>${meaning}</li>`)}</ul>`;
}

interface Decisions {
  decisions: AppDecision[];
  decided: AppRequest[];
  platformName: string;
}

function decisionList(context: MembersContext, { decisions, decided, platformName }: Decisions): Html {
  const rows = html`${decisions.map((decision) => decisionRow(context, decision, platformName))}${decided.map((request) => decidedRequestRow(context, request, platformName))}`;
  return section({
    title: 'Decisions',
    intro: 'What owners have decided about single apps.',
    body: html`<ul class="rows">${rows}</ul>`,
  });
}

function decisionRow(context: MembersContext, decision: AppDecision, platformName: string): Html {
  const { appId, name: appName, status, scopes, reason, decidedBy, decidedAt } = decision;
  const isBlocked = status === 'blocked';
  const label = isBlocked ? 'Unblock' : 'Withdraw';
  return html`<li>${avatar({ id: appId, name: appName, shape: 'square' })}<div><strong>${appName}</strong> ${isBlocked ? badge('Blocked', 'warn') : badge('Approved for everyone', 'good')}
${appOrigin(context, decision, { owner: decision.ownerName, platformName })}
<p class="muted small">${time(decidedAt)}${decidedBy && `, by ${decidedBy}`}</p>
${reason && html`<p class="small">${reason}</p>`}
${!isBlocked && scopeList(scopes)}</div>
<div class="actions">${!isBlocked && html`<a class="button quiet" href="${appRulesPath(context)}/${appId}/block" aria-label="Block ${appName}">Block…</a>`}
${withdrawForm(context, `${appRulesPath(context)}/${appId}/withdraw`, { label, about: appName })}</div></li>`;
}

function decidedRequestRow(context: MembersContext, request: AppRequest, platformName: string): Html {
  const { appId, userId, app, userName, status, approvedScopes, reason, decidedAt } = request;
  const isRefused = status === 'refused';
  return html`<li>${avatar({ id: appId, name: app.name, shape: 'square' })}<div><strong>${app.name}</strong> ${isRefused ? badge(`Refused for ${userName}`, 'warn') : badge(`Approved for ${userName}`, 'good')}
${appOrigin(context, app, { owner: request.ownerName, platformName })}
<p class="muted small">${decidedAt !== null && time(decidedAt)}</p>
${reason && html`<p class="small">${reason}</p>`}
${!isRefused && scopeList(approvedScopes)}</div>
${withdrawForm(context, `${appRulesPath(context)}/${appId}/requests/${userId}/withdraw`, { label: 'Withdraw', about: `${app.name} for ${userName}` })}</li>`;
}

function withdrawForm(
  context: MembersContext,
  action: string,
  { label, about }: { label: string; about: string },
): Html {
  const body = html`<button class="quiet" aria-label="${label}: ${about}">${label}</button>`;
  return postForm({ action, csrf: context.csrf, body });
}
