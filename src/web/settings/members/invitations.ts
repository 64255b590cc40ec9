import type { FastifyInstance } from 'fastify';
import {
  countOpenInvitations,
  createInvitation,
  type Invitation,
  listOpenInvitations,
  stateOf,
  withdrawInvitation,
} from '../../../accounts/invitations.ts';
import { type Html, html } from '../../../lib/html.ts';
import { newSecret } from '../../../lib/secrets.ts';
import { access } from '../../access.ts';
import { notFound, PageError } from '../../errors.ts';
import { redirectWithFlash } from '../../flash.ts';
import { formKey, readFormKey } from '../../form-keys.ts';
import { copyable, type Form, input, type Problem, postForm, text, time, tryForm } from '../../forms.ts';
import { PAGE_SIZE, pager, readListing, takePage } from '../../listing.ts';
import { businessField, type Entry, type MemberDesk, PATH, refuseOtherBusiness } from './desk.ts';
import { AS_ROLE, roleBadge, roleField } from './fields.ts';
import { memberTabs } from './tabs.ts';

const LIST = `${PATH}/invitations`;
const INVITING = 'Invite someone';

export function mountInvitations(host: FastifyInstance, desk: MemberDesk): void {
  mountInvite(host, desk);
  mountOpen(host, desk);
}

function mountInvite(host: FastifyInstance, desk: MemberDesk): void {
  const { storage, clock, consentUrl, show, enterAsOwner } = desk;

  host.get(`${PATH}/invite`, access('owner'), async (request, reply) => {
    const entry = await enterAsOwner(request);
    // The link is in it, too: so a second click shows the link of the first, and invites nobody else.
    const owner = entry.business.businessId;
    const ticket = formKey(desk, 'new invitation', { owner, token: newSecret() });
    return show(reply, entry, { title: INVITING, body: inviteBody(entry, { ticket, role: 'member', email: '' }) });
  });

  host.post<{ Body: Form }>(`${PATH}/invite`, access('owner'), async (request, reply) => {
    const entry = await enterAsOwner(request);
    refuseOtherBusiness(entry, request.body);
    const typed = {
      ticket: text(request.body, 'ticket'),
      role: text(request.body, 'role'),
      email: text(request.body, 'email'),
    };
    const { businessId } = entry.business;
    const of = { sealed: typed.ticket, owner: businessId };
    const { id, token } = readFormKey<{ token: string }>(desk, 'new invitation', of);
    const wanted = { ...typed, id, token, businessId, by: entry.by };
    const make = async () => {
      const invitation = await storage.transaction((db) => createInvitation(db, wanted, clock()));
      if (!invitation) throw notFound();
      if (stateOf(invitation, clock()) !== 'open') return reply.redirect(LIST, 303);
      return show(reply, entry, {
        title: 'The invitation is ready',
        body: linkBody(invitation, `${consentUrl}/invitation/${token}`),
      });
    };
    return tryForm(make, (problem) =>
      show(reply, entry, { title: INVITING, body: inviteBody(entry, typed, problem) }, 400),
    );
  });
}

function mountOpen(host: FastifyInstance, { storage, clock, db, show, enterAsOwner }: MemberDesk): void {
  host.get(LIST, access('owner'), async (request, reply) => {
    const entry = await enterAsOwner(request);
    const { businessId } = entry.business;
    const { after } = readListing(request.query);
    const listed = await listOpenInvitations(db, businessId, { after, limit: PAGE_SIZE + 1 }, clock());
    const open = await countOpenInvitations(db, businessId, clock());
    return show(reply, entry, { title: 'Invitations', body: listBody(entry, { listed, after, open }) });
  });

  host.post<{ Params: { id: string }; Body: Form }>(`${LIST}/:id/withdraw`, access('owner'), async (request, reply) => {
    const { business, by } = await enterAsOwner(request);
    const wanted = { id: request.params.id, businessId: business.businessId, by };
    const invitation = await storage.transaction((tx) => withdrawInvitation(tx, wanted, clock()));
    if (!invitation) throw notFound();
    if (invitation.acceptedAt !== null) {
      throw new PageError(409, 'Too late', 'Someone has joined with this invitation already. Look among the members.');
    }
    return redirectWithFlash(reply, LIST, 'invitation_withdrawn');
  });
}

interface Typed {
  ticket: string;
  role: string;
  email: string;
}

function inviteBody(entry: Entry, { ticket, role, email }: Typed, problem?: Problem): Html {
  const hint = 'Only an account with this address can join with the link.';
  return html`<h1>Invite someone to ${entry.business.businessName}</h1>
<p class="muted">You get a link, to send in whatever way you like. It works once, within 7 days, and for this address only.</p>
${postForm({
  action: `${PATH}/invite`,
  csrf: entry.context.csrf,
  style: 'card',
  body: html`<input type="hidden" name="ticket" value="${ticket}">
${businessField(entry)}
${roleField(role, problem)}
${input({ name: 'email', label: 'Email', type: 'email', value: email, hint }, problem)}
<button class="primary">Create invitation link</button>`,
})}
<p><a href="${PATH}">All members</a></p>`;
}

function linkBody({ businessName, role, email, expiresAt }: Invitation, link: string): Html {
  return html`<h1>The invitation is ready</h1>
<section class="card"><h2>Send this link to ${email}</h2>
<p class="notice warn"><strong>Copy it now.</strong> It is not shown again.</p>
<p>${copyable('invitation', link)}</p>
<p class="muted">It works once, until ${time(expiresAt)}. With it ${email} can join ${businessName} as ${AS_ROLE[role]}. Send it to nobody else: if this address has no account yet, anyone who has the link can make one.</p></section>
<p><a class="button secondary" href="${LIST}">All invitations</a></p>`;
}

interface Open {
  listed: Invitation[];
  after: string | undefined;
  open: number;
}

function listBody(entry: Entry, { listed, after, open }: Open): Html {
  const { shown, next } = takePage(listed);
  return html`<div class="head"><div><h1>Invitations</h1>
<p class="muted">Links to ${entry.business.businessName} that nobody has used yet.</p></div>
<a class="button primary" href="${PATH}/invite">Invite someone</a></div>
${memberTabs('invitations', open)}
${shown.length === 0 && html`<p class="empty">No invitation is open. One that was used, withdrawn or has expired is no longer listed.</p>`}
${shown.length > 0 && html`<div class="card"><ul class="rows">${shown.map((invitation) => row(entry, invitation))}</ul></div>`}
${pager({ path: LIST, search: '', after }, next)}`;
}

function row({ context }: Entry, { id, email, role, inviterName, expiresAt }: Invitation): Html {
  return html`<li><div><strong>${email}</strong> ${roleBadge(role)}
<p class="muted small">By ${inviterName}, until ${time(expiresAt)}</p></div>
${postForm({
  action: `${LIST}/${id}/withdraw`,
  csrf: context.csrf,
  body: html`<button class="danger" aria-label="Withdraw the invitation: ${email}">Withdraw</button>`,
})}</li>`;
}
