import type { FastifyInstance } from 'fastify';
import { countOpenInvitations } from '../../../accounts/invitations.ts';
import { listMembers, type Member } from '../../../accounts/memberships.ts';
import { type Html, html } from '../../../lib/html.ts';
import { access } from '../../access.ts';
import { roleBadge, unverifiedBadge } from '../../components.ts';
import type { WebDeps } from '../../deps.ts';
import { time } from '../../forms.ts';
import { type Listing, PAGE_SIZE, pager, readListing, searchForm, takePage } from '../../listing.ts';
import { loadPageContext } from '../../page-context.ts';
import { mountInvitations } from './invitations.ts';
import { mountMember } from './member.ts';
import { loadMembersContext, type MembersContext, memberTabs, PATH, sendMembersPage } from './page.ts';

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

  mountInvitations(host, deps);
  mountMember(host, deps);
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
