import type { FastifyInstance, FastifyReply } from 'fastify';
import {
  changePlatformRule,
  countUsersWithoutFactor,
  isRequiredByPlatform,
} from '../../accounts/second-factor-rules.ts';
import { changePlatformAppPolicy, readPlatformPolicy, readWho, type WhoConnects } from '../../grants/app-policies.ts';
import {
  changeEndPolicy,
  END_DAYS,
  type EndPolicy,
  parseEndPolicy,
  readEndPolicy,
} from '../../grants/connection-ends.ts';
import { formatCount, MAX_COUNTED } from '../../grants/counts.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { pageHead, settings } from '../components/structure.ts';
import { confirmation, isConfirmed } from '../confirmation.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, postForm, text } from '../forms.ts';
import { type PageContext, sendPage } from '../layout.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf, requireRecentSignIn } from '../session.ts';
import { policyForm } from '../settings/app-rules-views.ts';
import { SET_UP_FIRST, twoStepRuleForm } from '../settings/business.ts';
import { sendPlatformPage } from './page.ts';

const PATH = '/platform/settings';

/** What platform admins decide for every user. */
export function mountPlatformSettings(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, platformName } = deps;

  host.get(PATH, access('platform_admin'), async (request, reply) => {
    const context = await loadPageContext(deps, request);
    const isRequired = await isRequiredByPlatform(storage.durable);
    const form = { action: `${PATH}/two-step`, csrf: context.csrf, isRequired, who: `every user of ${platformName}` };
    const head = pageHead({ title: 'Platform settings', intro: `What applies to every business of ${platformName}.` });
    const body = html`${settings({ title: 'Two-step sign-in', intro: 'Whether a password alone is enough.', body: twoStepRuleForm(form) })}
${await appPolicy(deps, context.csrf)}
${await endPolicy(deps, context.csrf)}`;
    return sendPlatformPage(reply, deps, { context, title: 'Platform settings', head, body });
  });

  host.post<{ Body: Form }>(`${PATH}/two-step`, access('platform_admin'), async (request, reply) => {
    const rule = { isRequired: text(request.body, 'required') === 'yes', platformName };
    if (rule.isRequired) {
      requireRecentSignIn(request, PATH, clock());
      if (!isConfirmed(request.body))
        return askAboutTwoStep(deps, reply, await loadPageContext(deps, request), request.body);
    }
    await changePlatformRule(actorOf(request), storage.durable, rule, clock());
    return redirectWithFlash(reply, PATH, rule.isRequired ? 'two_step_required' : 'two_step_optional');
  });

  host.post<{ Body: Form }>(`${PATH}/apps`, access('platform_admin'), async (request, reply) => {
    const policy = {
      who: readWho(text(request.body, 'who')),
      reservesSensitive: text(request.body, 'reserves') === 'yes',
      isBinding: text(request.body, 'binding') === 'yes',
      platformName,
    };
    await changePlatformAppPolicy(actorOf(request), storage.durable, policy, clock());
    return redirectWithFlash(reply, PATH, 'saved');
  });

  host.post<{ Body: Form }>(`${PATH}/connection-ends`, access('platform_admin'), async (request, reply) => {
    const ends = parseEndPolicy(text(request.body, 'ends'));
    if (ends === undefined) throw notFound();
    await changeEndPolicy(actorOf(request), storage.durable, { ends, platformName }, clock());
    return redirectWithFlash(reply, PATH, 'saved');
  });
}

async function askAboutTwoStep(deps: WebDeps, reply: FastifyReply, context: PageContext, form: Form) {
  const without = await countUsersWithoutFactor(deps.storage.durable, MAX_COUNTED + 1);
  const title = `Require two-step sign-in of every user of ${deps.platformName}?`;
  const body = confirmation({
    title,
    back: { to: PATH, name: 'Platform settings' },
    explanation: html`<p><strong>${formatCount(without, { isPart: false })} ${without === 1 ? 'user has' : 'users have'}</strong> neither an authenticator app nor a passkey. ${SET_UP_FIRST}</p>`,
    button: 'Require two-step sign-in',
    action: `${PATH}/two-step`,
    csrf: context.csrf,
    form,
  });
  return sendPage(reply, { title, platformName: deps.platformName, width: 'wide', context, body });
}

async function endPolicy({ storage }: WebDeps, csrf: string): Promise<Html> {
  const current = await readEndPolicy(storage.durable);
  const choices: [EndPolicy, string][] = [
    ['free', 'Users choose'],
    ...END_DAYS.toReversed().map((days): [EndPolicy, string] => [
      days,
      `Users choose, at most ${days === 1 ? '1 day' : `${days} days`}`,
    ]),
    ['none', 'Until they are disconnected; users cannot choose'],
  ];
  const body = html`<div class="field"><label for="ends">How long apps stay connected</label>
<select id="ends" name="ends">${choices.map(
    ([value, words]) => html`<option value="${value}" ${value === current && html`selected`}>${words}</option>`,
  )}</select></div>
<button class="secondary">Save</button>`;
  return settings({
    title: 'Connection lifetime',
    intro: 'Users see the choice on the consent screen. Existing connections keep what was chosen.',
    body: postForm({ action: `${PATH}/connection-ends`, csrf, body }),
  });
}

const WHO_HINTS: Record<WhoConnects, string> = {
  anyone: 'Except for apps that its owners block.',
  approved:
    'Members and admins can ask for an app; their requests are listed for its owners under Business, Apps. Owners connect any app.',
  admins: 'Members see whom to ask.',
};

async function appPolicy({ storage }: WebDeps, csrf: string): Promise<Html> {
  const policy = await readPlatformPolicy(storage.durable);
  const more = html`<label class="choice"><input type="checkbox" name="binding" value="yes" ${policy.isBinding && html`checked`}><span><strong>Owners cannot change this rule</strong><br><span class="muted small">The rule then replaces what they have decided.</span></span></label>`;
  return settings({
    title: 'Who may connect apps',
    intro: 'For every business whose owners have not decided.',
    body: policyForm({ action: `${PATH}/apps`, csrf, policy, hints: WHO_HINTS, more }),
  });
}
