import type { FastifyInstance } from 'fastify';
import { changePlatformRule, isRequiredByPlatform } from '../../accounts/second-factor-rules.ts';
import { html } from '../../lib/html.ts';
import { access } from '../access.ts';
import type { WebDeps } from '../deps.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, text } from '../forms.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf } from '../session.ts';
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
${twoStepRuleForm(form)}</section>`;
    return sendPlatformPage(reply, deps, { context, title: 'Platform settings', body });
  });

  host.post<{ Body: Form }>(`${PATH}/two-step`, access('platform_admin'), async (request, reply) => {
    const rule = { isRequired: text(request.body, 'required') === 'yes', platformName };
    await changePlatformRule(actorOf(request), storage.durable, rule, clock());
    return redirectWithFlash(reply, PATH, rule.isRequired ? 'two_step_required' : 'two_step_optional');
  });
}
