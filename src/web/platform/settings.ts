import type { FastifyInstance } from 'fastify';
import { changePlatformRule, isRequiredByPlatform } from '../../accounts/second-factor-rules.ts';
import { changePlatformAppPolicy, readPlatformPolicy, readWho } from '../../grants/app-policies.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import type { WebDeps } from '../deps.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, text } from '../forms.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf } from '../session.ts';
import { policyForm } from '../settings/app-rules-views.ts';
import { twoStepRuleForm } from '../settings/business.ts';
import { sendPlatformPage } from './page.ts';

const PATH = '/platform/settings';

/** What platform admins decide for every user. */
export function mountPlatformSettings(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, platformName } = deps;

  host.get(PATH, access('platform_admin'), async (request, reply) => {
    const context = await loadPageContext(deps, request);
    const isRequired = await isRequiredByPlatform(storage.durable);
    const form = { action: `${PATH}/two-step`, csrf: context.csrf, isRequired, who: `every user of ${platformName}` };
    const body = html`<h1>Platform settings</h1>
<section class="card"><h2>Two-step sign-in</h2>
${twoStepRuleForm(form)}</section>
${await appPolicy(deps, context.csrf)}`;
    return sendPlatformPage(reply, deps, { context, title: 'Platform settings', body });
  });

  host.post<{ Body: Form }>(`${PATH}/two-step`, access('platform_admin'), async (request, reply) => {
    const rule = { isRequired: text(request.body, 'required') === 'yes', platformName };
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
}

async function appPolicy({ storage }: WebDeps, csrf: string): Promise<Html> {
  const policy = await readPlatformPolicy(storage.durable);
  const more = html`<label class="choice"><input type="checkbox" name="binding" value="yes" ${policy.isBinding && html`checked`}><span><strong>Owners cannot change it</strong><br><span class="muted small">It then replaces what they have decided.</span></span></label>`;
  return html`<section class="card"><h2>Who may connect apps</h2>
<p>For every business whose owners have not decided.</p>
${policyForm({ action: `${PATH}/apps`, csrf, policy, more })}</section>`;
}
