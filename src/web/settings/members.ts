import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { countOpenInvitations } from '../../accounts/invitations.ts';
import { findMember, listMembers, type Member, type Membership } from '../../accounts/memberships.ts';
import { listProtectedMembers } from '../../accounts/second-factor-rules.ts';
import type { UserActor } from '../../audit/entries.ts';
import { listProgress, type Progress } from '../../grants/follow-up-progress.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { businessPath, businessRoute } from '../business-address.ts';
import { avatar, badge, emptyState, statusDot } from '../components/display.ts';
import { followUpProgress } from '../components/follow-up-progress.ts';
import { roleBadge, unverifiedBadge } from '../components/product.ts';
import { dangerZone, list, pageHead, tabs } from '../components/structure.ts';
import { day } from '../days.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import type { Form } from '../forms.ts';
import { type PageContext, sendPage } from '../layout.ts';
import { type Listing, PAGE_SIZE, pager, readListing, searchForm, takePage } from '../listing.ts';
import { loadPageContext } from '../page-context.ts';
import { actorOf } from '../session.ts';

const MEMBERS = businessRoute('members');

/** Every member sees the list; only owners can change it. */
export function mountMembers(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  const db = storage.durable;

  host.get(MEMBERS, access('member'), async (request, reply) => {
    const context = await loadMembersContext(deps, request);
    const { businessId } = context.business;
    const listing = readListing(request.query);
    const members = await listMembers(db, businessId, { ...listing, limit: PAGE_SIZE + 1 });
    const { shown, next } = takePage(members);
    const protectedIds = await readProtected(deps, context, shown);
    const open = context.isOwner ? await countOpenInvitations(db, businessId, clock()) : 0;
    const progress = context.isOwner ? await listProgress(db, { businessId }) : [];
    const body = listBody(context, { listing, shown, next, protectedIds, open, progress });
    return sendMembersPage(reply, deps, { context, title: 'Members', body });
  });
}

interface Shown {
  listing: Listing;
  shown: Member[];
  next: string | undefined;
  /** The members who have a second factor; undefined if the user may not see it. */
  protectedIds: Set<string> | undefined;
  open: number;
  progress: Progress[];
}

/** Owners and admins see who has a second factor. For others, it would name the accounts that are easier to break into. */
async function readProtected({ storage }: WebDeps, { business }: MembersContext, members: Member[]) {
  const { businessId, role } = business;
  if (role === 'member') return undefined;
  return listProtectedMembers(storage.durable, { businessId, userIds: members.map(({ id }) => id) });
}

function listBody(context: MembersContext, { listing, shown, next, protectedIds, open, progress }: Shown): Html {
  const { businessName } = context.business;
  const path = membersPath(context);
  return html`${membersHead(context, 'Members', `The people of ${businessName} and their roles.`)}
${context.isOwner && memberTabs(context, 'members', open)}
${followUpProgress(progress)}
${searchForm({ path, search: listing.search, label: 'Search by name or email' })}
${shown.length === 0 && emptyState({ icon: 'users', text: listing.search ? 'No member matches this name or email.' : 'No more members.' })}
${shown.length > 0 && list(shown.map((member) => row(context, member, protectedIds?.has(member.id))))}
${pager({ path, ...listing }, next)}
${dangerZone([
  {
    title: 'Leave the business',
    text: 'You lose your access to it. To come back, you need a new invitation.',
    action: html`<a class="button danger" href="${path}/${context.user.id}/remove">Leave ${businessName}…</a>`,
  },
])}`;
}

function row(context: MembersContext, member: Member, isProtected: boolean | undefined): Html {
  const { user, isOwner } = context;
  const { id, name, email, role, since, disabledAt } = member;
  const shown = isOwner
    ? html`<a href="${membersPath(context)}/${id}" aria-label="Manage ${name}">${name}</a>`
    : html`<strong>${name}</strong>`;
  return html`<li class="entry">${avatar({ id, name })}<div>${shown} ${id === user.id && badge('You')} ${disabledAt !== null && badge('Disabled', 'warn')} ${unverifiedBadge(member)}
<p class="muted small">${email}</p></div>
<div class="meta muted small"><span>${isProtected !== undefined && twoStepStatus(isProtected)} ${roleBadge(role)}</span><span>Since ${day(since)}</span></div></li>`;
}

function twoStepStatus(isOn: boolean): Html {
  return isOn ? statusDot('Two-step on', 'good') : statusDot('Two-step off', 'caution');
}

/** A member on a page about the business. */
export interface MembersContext extends PageContext {
  business: Membership;
  isOwner: boolean;
  actor: UserActor;
}

export function membersPath({ business }: MembersContext): string {
  return businessPath(business, 'members');
}

export type MemberRoute = { Params: { user: string }; Body: Form };

export async function loadMembersContext(deps: WebDeps, request: FastifyRequest): Promise<MembersContext> {
  const context = await loadPageContext(deps, request);
  const { current: business } = context;
  if (!business) throw notFound();
  return { ...context, business, isOwner: business.role === 'owner', actor: actorOf(request) };
}

/** A member of the business. `mayManage` checks more than the declared access of the route. */
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
  if (!member) throw notFound();
  return { context, member };
}

export function sendMembersPage(
  reply: FastifyReply,
  { platformName }: WebDeps,
  { context, title, body, status = 200 }: { context: PageContext; title: string; body: Html; status?: number },
): FastifyReply {
  return sendPage(reply, { title, platformName, width: 'wide', context, body }, { status });
}

/** Shown to owners. */
export function memberTabs(context: MembersContext, active: 'members' | 'invitations', openInvitations: number): Html {
  const path = membersPath(context);
  const invitations = openInvitations > 0 ? `Invitations (${openInvitations})` : 'Invitations';
  return tabs('Members', [
    { to: path, name: 'Members', isHere: active === 'members' },
    { to: `${path}/invitations`, name: invitations, isHere: active === 'invitations' },
  ]);
}

export function membersHead(context: MembersContext, title: string, intro: string): Html {
  const invite = html`<a class="button primary" href="${membersPath(context)}/invite">Invite someone</a>`;
  return pageHead({ title, intro, actions: context.isOwner && invite });
}
