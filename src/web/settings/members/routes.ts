import type { FastifyInstance } from 'fastify';
import { countOpenInvitations } from '../../../accounts/invitations.ts';
import { listMembers, type Member } from '../../../accounts/memberships.ts';
import { type Html, html } from '../../../lib/html.ts';
import { access } from '../../access.ts';
import { unverifiedBadge } from '../../components.ts';
import type { WebDeps } from '../../deps.ts';
import { time } from '../../forms.ts';
import { type Listing, PAGE_SIZE, pager, readListing, searchForm, takePage } from '../../listing.ts';
import { loadPageContext } from '../../page-context.ts';
import { mountMemberChanges } from './changes.ts';
import { type Entry, type MemberDesk, openMemberDesk, PATH } from './desk.ts';
import { roleBadge } from './fields.ts';
import { mountInvitations } from './invitations.ts';
import { mountPasswordLinks } from './password-links.ts';
import { memberTabs } from './tabs.ts';

/** Who belongs to the current business, and who is invited. Every member may look; owners decide. */
export function mountMembers(host: FastifyInstance, deps: WebDeps): void {
  const desk = openMemberDesk(deps);
  mountList(host, desk);
  mountInvitations(host, desk);
  mountMemberChanges(host, desk);
  mountPasswordLinks(host, desk);
}

function mountList(host: FastifyInstance, desk: MemberDesk): void {
  const { db, clock, show, enter } = desk;
  host.get(PATH, access('signed_in'), async (request, reply) => {
    const place = await loadPageContext(desk, request);
    if (!place.current) return show(reply, { context: place }, { title: 'Members', body: nowhere });
    const entry = await enter(request);
    const { businessId } = entry.business;
    const listing = readListing(request.query);
    const members = await listMembers(db, businessId, { ...listing, limit: PAGE_SIZE + 1 });
    const open = entry.isOwner ? await countOpenInvitations(db, businessId, clock()) : 0;
    return show(reply, entry, { title: 'Members', body: listBody(entry, { listing, members, open }) });
  });
}

const nowhere = html`<h1>Members</h1>
<p class="empty">You are not a member of any business yet. Ask an owner of yours for an invitation: it is a link that lets you in.</p>`;

interface Shown {
  listing: Listing;
  members: Member[];
  open: number;
}

function listBody(entry: Entry, { listing, members, open }: Shown): Html {
  const { shown, next } = takePage(members);
  const { businessName } = entry.business;
  return html`<div class="head"><div><h1>Members</h1>
<p class="muted">The people of ${businessName}, and what they may do.</p></div>
${entry.isOwner && html`<a class="button primary" href="${PATH}/invite">Invite someone</a>`}</div>
${entry.isOwner && memberTabs('members', open)}
${searchForm({ path: PATH, search: listing.search, label: 'Search by name or email' })}
${shown.length === 0 && html`<p class="empty">${listing.search ? 'Nobody here has a name or an email like this.' : 'There is nobody else.'}</p>`}
${shown.length > 0 && html`<div class="card"><ul class="rows">${shown.map((member) => row(entry, member))}</ul></div>`}
${pager({ path: PATH, ...listing }, next)}
<p><a href="${PATH}/${entry.context.user.id}/remove">Leave ${businessName}…</a></p>`;
}

function row({ context, isOwner }: Entry, member: Member): Html {
  const { id, name, email, role, since, disabledAt } = member;
  return html`<li><div><strong>${name}</strong> ${roleBadge(role)} ${id === context.user.id && html`<span class="badge">You</span>`} ${disabledAt !== null && html`<span class="badge warn">Disabled</span>`} ${unverifiedBadge(member)}
<p class="muted small">${email}, since ${time(since)}</p></div>
${isOwner && html`<a class="button secondary" href="${PATH}/${id}" aria-label="Manage ${name}">Manage</a>`}</li>`;
}
