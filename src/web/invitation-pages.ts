import { type Invitation, type InvitationState, stateOf } from '../accounts/invitations.ts';
import type { JoinObstacle } from '../accounts/joining.ts';
import type { User } from '../accounts/users.ts';
import { type Html, html } from '../lib/html.ts';
import { PageError } from './errors.ts';
import { ariaAttributes, input, type Problem, postForm, problemText, time } from './forms.ts';
import { ROLE_MEANINGS, ROLE_NAMES } from './settings/members/fields.ts';

/** A link that someone has opened, in one browser. */
interface Opened {
  path: string;
  csrf: string;
  invitation: Invitation;
}

const CLOSED: Record<InvitationState, [title: string, sentence: string]> = {
  open: ['This link does not work just now', 'Open it once more.'],
  used: ['This link has been used', 'An invitation works once. If it was you who joined with it, just sign in.'],
  withdrawn: ['This invitation was withdrawn', 'Ask whoever sent it to you for a new one.'],
  expired: ['This invitation has expired', 'An invitation lasts 7 days. Ask whoever sent it to you for a new one.'],
};

/** Which of the ways to be closed it is, but not whose it was or who has used it. */
export function closedInvitation(invitation: Invitation | undefined, now: number): PageError {
  if (!invitation) {
    const sentence = 'It may have been copied only in part. Ask whoever sent it to you for a new one.';
    return new PageError(404, 'This link does not work', sentence);
  }
  return new PageError(410, ...CLOSED[stateOf(invitation, now)]);
}

/** To someone who has not signed in. */
export function newcomerBody(opened: Opened, name: string, problem?: Problem): Html {
  return html`<div class="card">${offer(opened)}
<p><a class="button primary wide" href="${signInAddress(opened)}">Sign in to join</a></p></div>
${postForm({
  action: `${opened.path}/account`,
  csrf: opened.csrf,
  style: 'card',
  body: html`<h2>New here? Make an account</h2>
${input({ name: 'name', label: 'Your name', value: name, autocomplete: 'name' }, problem)}
${addressField(opened.invitation.email, problem)}
${input({ name: 'password', label: 'Password', type: 'password', hint: 'At least 8 characters.', autocomplete: 'new-password' }, problem)}
<button class="secondary wide">Make the account and join</button>`,
})}`;
}

/** Shown for password managers, and not sent: the invitation decides. */
function addressField(email: string, problem: Problem | undefined): Html {
  const wrong = problem?.field === 'email';
  const hint = 'The invitation is for this address. You sign in with it.';
  return html`<div class="field">
<label for="email">Email</label>
<p class="hint" id="email-hint">${hint}</p>
<input id="email" type="email" value="${email}" autocomplete="username" readonly ${ariaAttributes('email', { hint, wrong })}>
${wrong && problemText(problem)}
</div>`;
}

interface Obstructed {
  obstacle: JoinObstacle;
  user: User;
  platformName: string;
}

/** To someone whose account cannot accept the invitation. It stays as it is. */
export function obstacleBody(opened: Opened, { obstacle, user, platformName }: Obstructed): Html {
  const { email, businessName } = opened.invitation;
  if (obstacle === 'another address') {
    return html`<div class="card"><h1>This invitation is for another address</h1>
<p>It invites <strong>${email}</strong> to ${businessName}. You are signed in as <strong>${user.email}</strong>.</p>
<p><a class="button secondary" href="${signInAddress(opened)}">Use another account</a></p></div>`;
  }
  return html`<div class="card"><h1>Your email address is not verified yet</h1>
<p>Your account was made with an invitation to another business, and nobody has verified since that <strong>${user.email}</strong> is your address. Until then the account cannot join ${businessName}.</p>
<p>Ask a platform admin or an operator of ${platformName}. They can give you a one-time link to set a new password, and using it verifies the address. Then open this invitation again: it works until ${time(opened.invitation.expiresAt)}.</p>
<p><a class="button secondary" href="${signInAddress(opened)}">Use another account</a></p></div>`;
}

export function joinBody(opened: Opened, user: User): Html {
  return html`<div class="card">${offer(opened)}
${postForm({
  action: opened.path,
  csrf: opened.csrf,
  body: html`<button class="primary wide">Join as ${user.name}</button>`,
})}
<p class="muted">You are signed in as ${user.email}. <a href="${signInAddress(opened)}">Use another account</a></p></div>`;
}

/** The invitation stays as it is, for whom it was meant. */
export function memberBody({ path, invitation, csrf }: Opened): Html {
  return html`<div class="card"><h1>You are in ${invitation.businessName} already</h1>
<p>You are a member, so you need no invitation. This one has not been used: it still works for ${invitation.email}.</p>
<div class="answers"><a class="button secondary" href="/settings/members">See the members</a>
<a class="button secondary" href="${signInAddress({ path, invitation, csrf })}">Use another account</a></div></div>`;
}

function offer({ invitation }: Opened): Html {
  const { businessName, inviterName, role, email, expiresAt } = invitation;
  return html`<h1>Join ${businessName}</h1>
<p><strong>${inviterName}</strong> invites you to <strong>${businessName}</strong>.</p>
<dl class="facts">
<div><dt>For</dt><dd>${email}</dd></div>
<div><dt>Your role</dt><dd>${ROLE_NAMES[role]}<br><span class="muted small">${ROLE_MEANINGS[role]}</span></dd></div>
<div><dt>Until</dt><dd>${time(expiresAt)}</dd></div>
</dl>`;
}

function signInAddress({ path }: Opened): string {
  return `/sign-in?${new URLSearchParams({ return_to: path })}`;
}
