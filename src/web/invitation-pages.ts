import { type Invitation, type InvitationState, stateOf } from '../accounts/invitations.ts';
import type { User } from '../accounts/users.ts';
import { type Html, html } from '../lib/html.ts';
import { input, type Problem, postForm, time } from './fields.ts';
import { PageRefused } from './refusals.ts';
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
export function closedInvitation(invitation: Invitation | undefined, now: number): PageRefused {
  if (!invitation) {
    const sentence = 'It may have been copied only in part. Ask whoever sent it to you for a new one.';
    return new PageRefused(404, 'This link does not work', sentence);
  }
  return new PageRefused(410, ...CLOSED[stateOf(invitation, now)]);
}

/** To someone who has not signed in. */
export function newcomerBody(opened: Opened, typed: { name: string; email: string }, problem?: Problem): Html {
  return html`<div class="card">${offer(opened)}
<p><a class="button primary wide" href="${signInAddress(opened)}">Sign in to join</a></p></div>
${postForm({
  action: `${opened.path}/account`,
  csrf: opened.csrf,
  style: 'card',
  body: html`<h2>New here? Make an account</h2>
${input({ name: 'name', label: 'Your name', value: typed.name, autocomplete: 'name' }, problem)}
${input({ name: 'email', label: 'Email', type: 'email', value: typed.email, hint: 'You sign in with it.', autocomplete: 'username' }, problem)}
${input({ name: 'password', label: 'Password', type: 'password', hint: 'At least 8 characters.', autocomplete: 'new-password' }, problem)}
<button class="secondary wide">Make the account and join</button>`,
})}`;
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
<p>You are a member, so you need no invitation. This one has not been used: it still works for someone else.</p>
<div class="answers"><a class="button secondary" href="/settings/members">See the members</a>
<a class="button secondary" href="${signInAddress({ path, invitation, csrf })}">Use another account</a></div></div>`;
}

function offer({ invitation }: Opened): Html {
  const { businessName, inviterName, role, expiresAt } = invitation;
  return html`<h1>Join ${businessName}</h1>
<p><strong>${inviterName}</strong> invites you to <strong>${businessName}</strong>.</p>
<dl class="facts">
<div><dt>Your role</dt><dd>${ROLE_NAMES[role]}<br><span class="muted small">${ROLE_MEANINGS[role]}</span></dd></div>
<div><dt>Until</dt><dd>${time(expiresAt)}</dd></div>
</dl>`;
}

function signInAddress({ path }: Opened): string {
  return `/sign-in?${new URLSearchParams({ return_to: path })}`;
}
