import type { FastifyReply, FastifyRequest } from 'fastify';
import { findMember, type Member, type Membership } from '../../../accounts/memberships.ts';
import type { UserActor } from '../../../audit/entries.ts';
import { type Html, html } from '../../../lib/html.ts';
import type { WebDeps } from '../../deps.ts';
import { notFound, PageError } from '../../errors.ts';
import { type Form, text } from '../../forms.ts';
import { type PageContext, sendPage } from '../../layout.ts';
import { loadPageContext } from '../../page-context.ts';
import { actorOf, notFoundOrOtherBusiness } from '../../session.ts';

export const PATH = '/settings/members';

/** A signed-in user in their current business. */
export interface MembersContext extends PageContext {
  business: Membership;
  isOwner: boolean;
  actor: UserActor;
}

export type MemberRoute = { Params: { user: string }; Body: Form };

export async function loadMembersContext(deps: WebDeps, request: FastifyRequest): Promise<MembersContext> {
  const context = await loadPageContext(deps, request);
  const { current: business } = context;
  if (!business) throw notFound();
  return { ...context, business, isOwner: business.role === 'owner', actor: actorOf(request) };
}

/** A member of the current business. `mayManage` checks more than the declared access of the route. */
export async function requireMember(
  deps: WebDeps,
  request: FastifyRequest<MemberRoute>,
  mayManage: (context: MembersContext) => boolean = () => true,
): Promise<{ context: MembersContext; member: Member }> {
  const context = await loadMembersContext(deps, request);
  const { businessId } = context.business;
  const member = mayManage(context)
    ? await findMember(deps.storage.durable, businessId, request.params.user)
    : undefined;
  if (!member) throw notFoundOrOtherBusiness(await findOtherBusinesses(deps)(request, context), request);
  return { context, member };
}

/** Finds the other businesses that the user owns and that the member of the page belongs to. */
export function findOtherBusinesses({ storage }: WebDeps) {
  return async ({ params }: FastifyRequest, { current, memberships }: PageContext): Promise<Membership[]> => {
    const { user: userId } = params as MemberRoute['Params'];
    const owned = memberships.filter(({ businessId, role }) => businessId !== current?.businessId && role === 'owner');
    const found = await Promise.all(owned.map(({ businessId }) => findMember(storage.durable, businessId, userId)));
    return owned.filter((_, i) => found[i]);
  };
}

export function sendMembersPage(
  reply: FastifyReply,
  { platformName }: WebDeps,
  { context, title, body, status = 200 }: { context: PageContext; title: string; body: Html; status?: number },
): FastifyReply {
  return sendPage(reply, { title, platformName, width: 'wide', context, body }, { status });
}

/** Every form names its business: the current business may have changed in another tab. */
export function businessField({ business }: MembersContext): Html {
  return html`<input type="hidden" name="business" value="${business.businessId}">`;
}

export function rejectOtherBusiness({ business }: MembersContext, form: Form): void {
  if (text(form, 'business') === business.businessId) return;
  const sentence = `You now act for ${business.businessName}, and this form is about another business. Nothing was changed.`;
  throw new PageError(409, 'Another business', sentence);
}

/** Shown to owners. */
export function memberTabs(active: 'members' | 'invitations', openInvitations: number): Html {
  const current = (name: string) => name === active && html`aria-current="page"`;
  return html`<nav class="tabs" aria-label="Members"><ul>
<li><a href="${PATH}" ${current('members')}>Members</a></li>
<li><a href="${PATH}/invitations" ${current('invitations')}>Invitations${openInvitations > 0 && ` (${openInvitations})`}</a></li>
</ul></nav>`;
}
