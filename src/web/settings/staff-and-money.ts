import type { FastifyInstance } from 'fastify';
import { changeAppPolicy, readBusinessPolicy } from '../../grants/app-policies.ts';
import { FormError } from '../../lib/errors.ts';
import { type Html, html } from '../../lib/html.ts';
import { SCOPES } from '../../oauth/scopes.ts';
import { access } from '../access.ts';
import { businessPath, businessRoute } from '../business-address.ts';
import { section } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, postForm, text } from '../forms.ts';
import { connectedAppsPath } from './disconnecting.ts';
import { loadMembersContext, type MembersContext } from './members.ts';

const PAGE = 'settings/apps/staff-and-money';

/** Owners answer a question on the page where they land. The answer is the box on the page about apps. */
export function mountStaffAndMoney(host: FastifyInstance, { storage, clock, ...deps }: WebDeps): void {
  host.post<{ Body: Form }>(businessRoute(PAGE), access('owner'), async (request, reply) => {
    const context = await loadMembersContext({ storage, clock, ...deps }, request);
    const answer = text(request.body, 'members_may');
    if (answer !== 'yes' && answer !== 'no') throw new FormError('members_may', 'Choose one of the two answers.');
    const policy = { businessId: context.business.businessId, reservesSensitive: answer === 'no' };
    if (!(await changeAppPolicy(context.actor, storage.durable, policy, clock()))) throw notFound();
    return redirectWithFlash(reply, connectedAppsPath(context.business), 'saved');
  });
}

/** Null once an owner has decided, here or on the page about apps, or if the platform decides. */
export async function staffAndMoneyQuestion({ storage }: WebDeps, context: MembersContext): Promise<Html | null> {
  const { business, csrf, isOwner } = context;
  if (!isOwner) return null;
  const { isOwn, isBinding, reservesSensitive } = await readBusinessPolicy(storage.durable, business.businessId);
  if (isOwn || isBinding) return null;
  const sensitive = SCOPES.filter(({ isSensitive }) => isSensitive).map(({ meaning }) => meaning);
  const option = (value: string, label: string) =>
    html`<label class="choice"><input type="radio" name="members_may" value="${value}" required><span><strong>${label}</strong></span></label>`;
  const body = html`<fieldset class="field"><legend class="visually-hidden">Your answer</legend>
${option('yes', 'Yes, every member who may connect the app')}
${option('no', 'No, only owners')}
</fieldset>
<button class="secondary">Save</button>`;
  return section({
    title: 'May any member let an app read data about staff and money?',
    id: 'staff-and-money',
    intro: html`${sensitive.join('. ')}. Until an owner of ${business.businessName} answers, ${reservesSensitive ? 'only owners may' : 'every member may'}. You can change the answer under <a href="${businessPath(business, 'settings/apps')}">Business, Apps</a>.`,
    body: postForm({ action: businessPath(business, PAGE), csrf, body }),
  });
}
