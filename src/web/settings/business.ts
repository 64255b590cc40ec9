import type { FastifyInstance, FastifyReply } from 'fastify';
import { changeBusinessRule, isRequiredByPlatform, readBusinessRule } from '../../accounts/second-factor-rules.ts';
import { renameBusiness } from '../../apps/business-names.ts';
import { BADGE } from '../../apps/verification.ts';
import { countWaitingRequests } from '../../grants/app-requests.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { businessPath, businessRoute } from '../business-address.ts';
import { badge, notice } from '../components/display.ts';
import { pluralize } from '../components/product.ts';
import { pageHead, settings } from '../components/structure.ts';
import { confirmation, isConfirmed } from '../confirmation.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { copyable, type Form, input, type Problem, postForm, text, tryForm } from '../forms.ts';
import { requireRecentSignIn } from '../session.ts';
import { appRulesPath } from './app-rules-views.ts';
import { loadMembersContext, type MembersContext, sendMembersPage } from './members.ts';

const SETTINGS = businessRoute('settings');

/** What owners decide for the whole business. */
export function mountBusinessSettings(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;

  host.get(SETTINGS, access('owner'), async (request, reply) =>
    showBusiness(deps, reply, await loadMembersContext(deps, request)),
  );

  host.post<{ Body: Form }>(`${SETTINGS}/name`, access('owner'), async (request, reply) => {
    const context = await loadMembersContext(deps, request);
    const name = text(request.body, 'name');
    const rename = async () => {
      const { businessId } = context.business;
      const renaming = { businessId, name, keepsBadge: !isConfirmed(request.body) };
      if (!(await renameBusiness(context.actor, storage.durable, renaming, clock()))) throw notFound();
      return redirectWithFlash(reply, businessPath(context.business, 'settings'), 'business_renamed');
    };
    return tryForm(rename, (problem) => {
      if (problem.field !== BADGE) return showBusiness(deps, reply, context, { name, problem });
      return askAboutBadges(deps, reply, context, { name, problem });
    });
  });

  host.post<{ Body: Form }>(`${SETTINGS}/two-step`, access('owner'), async (request, reply) => {
    const context = await loadMembersContext(deps, request);
    const rule = { businessId: context.business.businessId, isRequired: text(request.body, 'required') === 'yes' };
    if (rule.isRequired) {
      requireRecentSignIn(request, businessPath(context.business, 'settings'), clock());
      if (!isConfirmed(request.body)) return askAboutTwoStep(deps, reply, context, request.body);
    }
    if (!(await changeBusinessRule(context.actor, storage.durable, rule, clock()))) throw notFound();
    return redirectWithFlash(
      reply,
      businessPath(context.business, 'settings'),
      rule.isRequired ? 'two_step_required' : 'two_step_optional',
    );
  });
}

function askAboutBadges(deps: WebDeps, reply: FastifyReply, context: MembersContext, { name, problem }: Rejected) {
  const title = `Rename ${context.business.businessName}?`;
  const body = confirmation({
    title,
    back: settingsOf(context),
    explanation: html`<p>${problem.message}</p>`,
    button: 'Rename it anyway',
    action: businessPath(context.business, 'settings/name'),
    csrf: context.csrf,
    form: { name },
  });
  return sendMembersPage(reply, deps, { context, title, body });
}

async function askAboutTwoStep(deps: WebDeps, reply: FastifyReply, context: MembersContext, form: Form) {
  const { businessId, businessName } = context.business;
  const { members, protectedMembers } = await readBusinessRule(deps.storage.durable, businessId);
  const without = members - protectedMembers;
  const title = `Require two-step sign-in in ${businessName}?`;
  const body = confirmation({
    title,
    back: settingsOf(context),
    explanation: html`<p><strong>${without.toLocaleString('en')} of ${pluralize(members, 'member', 'members')}</strong> ${without === 1 ? 'has' : 'have'} neither an authenticator app nor a passkey. ${SET_UP_FIRST}</p>`,
    button: 'Require two-step sign-in',
    action: businessPath(context.business, 'settings/two-step'),
    csrf: context.csrf,
    form,
  });
  return sendMembersPage(reply, deps, { context, title, body });
}

export const SET_UP_FIRST =
  'They have to set one up before they see another page. Apps that they connected keep working.';

function settingsOf({ business }: MembersContext) {
  return { to: businessPath(business, 'settings'), name: 'Business' };
}

/** A new name that was rejected. */
interface Rejected {
  name: string;
  problem: Problem;
}

async function showBusiness(
  deps: WebDeps,
  reply: FastifyReply,
  context: MembersContext,
  rejected?: Rejected,
): Promise<FastifyReply> {
  const body = html`${pageHead({ title: context.business.businessName, intro: 'What owners decide for the whole business.' })}
${details(context, rejected)}
${await appRules(deps, context)}
${await twoStepRule(deps, context)}`;
  return sendMembersPage(reply, deps, { context, title: 'Business settings', body, status: rejected ? 400 : 200 });
}

function details({ business, csrf }: MembersContext, rejected: Rejected | undefined): Html {
  const hint =
    'If apps of the business have the Verified publisher badge, a new name removes it until the name is checked.';
  const name = { name: 'name', label: 'Name', value: rejected?.name ?? business.businessName, hint };
  return settings({
    title: 'Details',
    intro: html`Apps name the business by its ID, in the header <code>x-business-id</code>. Members and users of its apps see the name.`,
    body: html`<dl class="facts">
<div><dt>Business ID</dt><dd>${copyable('business-id', business.businessId)}</dd></div>
</dl>
${postForm({ action: businessPath(business, 'settings/name'), csrf, body: html`${input(name, rejected?.problem)}<button class="secondary">Rename</button>` })}`,
  });
}

async function appRules({ storage }: WebDeps, { business }: MembersContext): Promise<Html> {
  const waiting = await countWaitingRequests(storage.durable, business.businessId);
  return settings({
    title: 'Apps',
    intro: 'Who may connect apps, which apps are approved, and which are blocked.',
    body:
      waiting > 0
        ? html`<p>Members would like to connect apps.</p>
<p><a class="button primary" href="${appRulesPath({ business })}">Review ${pluralize(waiting, 'request', 'requests')}</a></p>`
        : html`<p><a class="button" href="${appRulesPath({ business })}">Decide about apps</a></p>`,
  });
}

async function twoStepRule({ storage, platformName }: WebDeps, context: MembersContext): Promise<Html> {
  const { isRequired, members, protectedMembers } = await readBusinessRule(
    storage.durable,
    context.business.businessId,
  );
  const isEverywhere = await isRequiredByPlatform(storage.durable);
  const form = twoStepRuleForm({
    action: businessPath(context.business, 'settings/two-step'),
    csrf: context.csrf,
    isRequired,
    who: 'every member of the business',
  });
  return settings({
    title: 'Two-step sign-in',
    intro: `With an authenticator app or a passkey: ${protectedMembers.toLocaleString('en')} of ${pluralize(members, 'member', 'members')}.`,
    body: html`${isEverywhere && notice(`${platformName} requires two-step sign-in of everyone.`)}${form}`,
  });
}

interface RuleForm {
  action: string;
  csrf: string;
  isRequired: boolean;
  /** The users to whom it applies. */
  who: string;
}

export function twoStepRuleForm({ action, csrf, isRequired, who }: RuleForm): Html {
  const [value, button, style] = isRequired
    ? ['no', 'Make it optional', 'danger']
    : ['yes', 'Require two-step sign-in', 'secondary'];
  const state = isRequired
    ? html`${badge('Required', 'good')} After the password, ${who} enters a code from an authenticator app; or they use a passkey.`
    : html`${badge('Optional', 'caution')} If you require it, ${who}, including you, sets it up before they see another page. Apps that they connected keep working.`;
  return html`<p>${state}</p>
${postForm({ action, csrf, body: html`<input type="hidden" name="required" value="${value}"><button class="${style}">${button}</button>` })}`;
}
