import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { countOpenInvitations } from '../../accounts/invitations.ts';
import { findMember, listMembers, type Member, type Membership } from '../../accounts/memberships.ts';
import type { UserActor } from '../../audit/entries.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { roleBadge, unverifiedBadge } from '../components.ts';
import type { WebDeps } from '../deps.ts';
import { notFound, PageError } from '../errors.ts';
import { type Form, text, time } from '../forms.ts';
import { type PageContext, sendPage } from '../layout.ts';
import { type Listing, PAGE_SIZE, pager, readListing, searchForm, takePage } from '../listing.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf, notFoundOrOtherBusiness } from '../session.ts';

export const PATH = '/settings/members';

/** Every member sees the list; only owners can change it. */
export function mountMembers(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  const db = storage.durable;

  host.get(PATH, access('signed_in'), async (request, reply) => {
    const page = await loadPageContext(deps, request);
    if (!page.current) return sendMembersPage(reply, deps, { context: page, title: 'Members', body: noBusiness });
    const context = await loadMembersContext(deps, request);
    const { businessId } = context.business;
    const listing = readListing(request.query);
    const members = await listMembers(db, businessId, { ...listing, limit: PAGE_SIZE + 1 });
    const open = context.isOwner ? await countOpenInvitations(db, businessId, clock()) : 0;
    const body = listBody(context, { listing, members, open });
    return sendMembersPage(reply, deps, { context, title: 'Members', body });
  });
}

const noBusiness = html`<h1>Members</h1>
<p class="empty">You are not a member of any business yet. Ask an owner of your business for an invitation link.</p>`;

interface Shown {
  listing: Listing;
  members: Member[];
  open: number;
}

function listBody(context: MembersContext, { listing, members, open }: Shown): Html {
  const { shown, next } = takePage(members);
  const { businessName } = context.business;
  return html`<div class="head"><div><h1>Members</h1>
<p class="muted">The people of ${businessName} and their roles.</p></div>
${context.isOwner && html`<a class="button primary" href="${PATH}/invite">Invite someone</a>`}</div>
${context.isOwner && memberTabs('members', open)}
${searchForm({ path: PATH, search: listing.search, label: 'Search by name or email' })}
${shown.length === 0 && html`<p class="empty">${listing.search ? 'No member matches this name or email.' : 'No more members.'}</p>`}
${shown.length > 0 && html`<div class="card"><ul class="rows">${shown.map((member) => row(context, member))}</ul></div>`}
${pager({ path: PATH, ...listing }, next)}
<p><a href="${PATH}/${context.user.id}/remove">Leave ${businessName}…</a></p>`;
}

function row({ user, isOwner }: MembersContext, member: Member): Html {
  const { id, name, email, role, since, disabledAt } = member;
  return html`<li><div><strong>${name}</strong> ${roleBadge(role)} ${id === user.id && html`<span class="badge">You</span>`} ${disabledAt !== null && html`<span class="badge warn">Disabled</span>`} ${unverifiedBadge(member)}
<p class="muted small">${email}, since ${time(since)}</p></div>
${isOwner && html`<a class="button secondary" href="${PATH}/${id}" aria-label="Manage ${name}">Manage</a>`}</li>`;
}

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
