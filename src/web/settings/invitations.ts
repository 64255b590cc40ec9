import type { FastifyInstance, FastifyReply } from 'fastify';
import {
  countOpenInvitations,
  createInvitation,
  type Invitation,
  invitationState,
  withdrawInvitation,
} from '../../accounts/invitations.ts';
import { inviteByMail } from '../../accounts/mailed-invitations.ts';
import { listOpenInvitations } from '../../accounts/open-invitations.ts';
import { type Html, html } from '../../lib/html.ts';
import { newSecret } from '../../lib/secrets.ts';
import { access } from '../access.ts';
import { businessRoute } from '../business-address.ts';
import { avatar, emptyState } from '../components/display.ts';
import { AS_ROLE, roleBadge, roleField } from '../components/product.ts';
import { list, pageHead, settings } from '../components/structure.ts';
import { confirmation, isConfirmed } from '../confirmation.ts';
import { day } from '../days.ts';
import type { WebDeps } from '../deps.ts';
import { notFound, PageError } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { formKey, readFormKey } from '../form-keys.ts';
import { copyable, type Form, input, type Problem, postForm, text, time, tryForm } from '../forms.ts';
import { textsOf } from '../language.ts';
import { PAGE_SIZE, pager, readListing, takePage } from '../listing.ts';
import { isMailAllowed } from '../mail-limits.ts';
import { requireRecentSignIn } from '../session.ts';
import {
  loadMembersContext,
  type MembersContext,
  membersHead,
  membersPath,
  memberTabs,
  sendMembersPage,
} from './members.ts';
import { ownerPowers } from './owner-powers.ts';

const LIST = businessRoute('members/invitations');
const INVITE = businessRoute('members/invite');
const TITLE = 'Invite someone';

export function mountInvitations(host: FastifyInstance, deps: WebDeps): void {
  mountInvite(host, deps);
  mountList(host, deps);
}

function mountInvite(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock, consentUrl } = deps;

  host.get(INVITE, access('owner'), async (request, reply) => {
    const context = await loadMembersContext(deps, request);
    // The token is chosen now: submitting the form twice creates one invitation and shows the same link.
    const owner = context.business.businessId;
    const key = formKey(deps, 'new invitation', { owner, token: newSecret() });
    const body = inviteBody(context, { key, role: 'member', email: '' });
    return sendMembersPage(reply, deps, { context, title: TITLE, body });
  });

  host.post<{ Body: Form }>(INVITE, access('owner'), async (request, reply) => {
    const context = await loadMembersContext(deps, request);
    const typed = {
      key: text(request.body, 'form_key'),
      role: text(request.body, 'role'),
      email: text(request.body, 'email'),
    };
    if (typed.role === 'owner') {
      requireRecentSignIn(request, `${membersPath(context)}/invite`, clock());
      if (!isConfirmed(request.body)) return askAboutOwner(deps, reply, context, request.body);
    }
    const { actor, business } = context;
    const { businessId } = business;
    const submittedKey = { text: typed.key, owner: businessId };
    const { id, token } = readFormKey<{ token: string }>(deps, 'new invitation', submittedKey);
    const create = async () => {
      const newInvitation = { id, token, businessId, role: typed.role, email: typed.email, inviter: actor };
      const isMailed = deps.mailer.isOn && (await isMailAllowed(deps, request, typed.email));
      const language = textsOf(deps, request).tag;
      const invitation = isMailed
        ? await inviteByMail(actor, storage.durable, deps.mailer, { ...newInvitation, language }, clock())
        : await createInvitation(actor, storage.durable, newInvitation, clock());
      if (!invitation) throw notFound();
      if (invitationState(invitation, clock()) !== 'open') return reply.redirect(listPath(context), 303);
      const body = linkBody(context, invitation, { link: `${consentUrl}/invitation/${token}`, isMailed });
      return sendMembersPage(reply, deps, { context, title: 'The invitation is ready', body });
    };
    return tryForm(create, (problem) => {
      const body = inviteBody(context, typed, problem);
      return sendMembersPage(reply, deps, { context, title: TITLE, body, status: 400 });
    });
  });
}

async function askAboutOwner(deps: WebDeps, reply: FastifyReply, context: MembersContext, form: Form) {
  const title = `Invite an owner to ${context.business.businessName}?`;
  const page = `${membersPath(context)}/invite`;
  const body = confirmation({
    title,
    back: { to: page, name: TITLE },
    explanation: html`<p>The invitation is for <strong>${text(form, 'email')}</strong>.</p>
${await ownerPowers(deps, context)}`,
    button: 'Create invitation link',
    action: page,
    csrf: context.csrf,
    form,
  });
  return sendMembersPage(reply, deps, { context, title, body });
}

function mountList(host: FastifyInstance, deps: WebDeps): void {
  const { storage, clock } = deps;
  const db = storage.durable;

  host.get(LIST, access('owner'), async (request, reply) => {
    const context = await loadMembersContext(deps, request);
    const { businessId } = context.business;
    const { after } = readListing(request.query);
    const listed = await listOpenInvitations(db, businessId, { after, limit: PAGE_SIZE + 1 }, clock());
    const open = await countOpenInvitations(db, businessId, clock());
    const body = invitationsBody(context, { listed, after, open });
    return sendMembersPage(reply, deps, { context, title: 'Invitations', body });
  });

  host.post<{ Params: { id: string }; Body: Form }>(`${LIST}/:id/withdraw`, access('owner'), async (request, reply) => {
    const context = await loadMembersContext(deps, request);
    const { actor, business } = context;
    const key = { id: request.params.id, businessId: business.businessId };
    const invitation = await withdrawInvitation(actor, db, key, clock());
    if (!invitation) throw notFound();
    if (invitation.acceptedAt !== null) {
      throw new PageError(409, 'Too late', 'Someone has joined with this invitation already. See the list of members.');
    }
    return redirectWithFlash(reply, listPath(context), 'invitation_withdrawn');
  });
}

function listPath(context: MembersContext): string {
  return `${membersPath(context)}/invitations`;
}

interface InviteForm {
  /** The signed form key. */
  key: string;
  role: string;
  email: string;
}

function inviteBody(context: MembersContext, { key, role, email }: InviteForm, problem?: Problem): Html {
  const hint = 'Only an account with this address can join with the link.';
  return html`${pageHead({
    title: `Invite someone to ${context.business.businessName}`,
    intro: 'You get a link that you can send in any way you like.',
    back: { to: membersPath(context), name: 'Members' },
  })}
${settings({
  title: 'Invitation',
  intro: 'It works once, within 7 days, and for this address only. An earlier link for the same address ends.',
  body: postForm({
    action: `${membersPath(context)}/invite`,
    csrf: context.csrf,
    body: html`<input type="hidden" name="form_key" value="${key}">
${input({ name: 'email', label: 'Email', type: 'email', value: email, hint }, problem)}
${roleField(role, problem)}
<button class="primary">Create invitation link</button>`,
  }),
})}`;
}

interface ShownLink {
  link: string;
  isMailed: boolean;
}

function linkBody(context: MembersContext, invitation: Invitation, { link, isMailed }: ShownLink): Html {
  const { businessName, role, email, expiresAt } = invitation;
  return html`${pageHead({ title: 'The invitation is ready', back: { to: listPath(context), name: 'Invitations' } })}
${isMailed && html`<p class="notice">An email with a link is on its way to ${email}. Joining with that link verifies the address.</p>`}
<section class="card"><h2>${isMailed ? 'Or send' : 'Send'} this link to ${email}</h2>
<p class="notice caution"><strong>Copy it now.</strong> It is not shown again.</p>
<p>${copyable('invitation', link)}</p>
<p class="muted">It works once, until ${time(expiresAt)}. With it, ${email} can join ${businessName} as ${AS_ROLE[role]}. Send it to nobody else: if the address has no account yet, anyone who has the link can create one.</p></section>`;
}

interface OpenInvitations {
  listed: Invitation[];
  after: string | undefined;
  open: number;
}

function invitationsBody(context: MembersContext, { listed, after, open }: OpenInvitations): Html {
  const { shown, next } = takePage(listed);
  return html`${membersHead(context, 'Invitations', `Invitations to ${context.business.businessName} that have not been used yet.`)}
${memberTabs(context, 'invitations', open)}
${shown.length === 0 && emptyState({ icon: 'users', title: 'No open invitations', text: 'Used, withdrawn and expired invitations are not listed. Invite someone, and the invitation is listed here until it is used.' })}
${shown.length > 0 && list(shown.map((invitation) => row(context, invitation)))}
${pager({ path: listPath(context), search: '', after }, next)}`;
}

function row(context: MembersContext, { id, email, role, inviterName, expiresAt }: Invitation): Html {
  return html`<li class="entry">${avatar({ id: email, name: email })}<div><strong>${email}</strong>
<p class="muted small">Invited by ${inviterName}</p></div>
<div class="meta muted small">${roleBadge(role)}<span>Expires ${day(expiresAt)}</span></div>
${postForm({
  action: `${listPath(context)}/${id}/withdraw`,
  csrf: context.csrf,
  body: html`<button class="quiet danger" aria-label="Withdraw the invitation: ${email}">Withdraw</button>`,
})}</li>`;
}
