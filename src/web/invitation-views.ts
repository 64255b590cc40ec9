import type { Invitation } from '../accounts/invitations.ts';
import type { JoinObstacle } from '../accounts/joining.ts';
import type { User } from '../accounts/users.ts';
import { type Html, html } from '../lib/html.ts';
import { businessPath } from './business-address.ts';
import { ROLE_MEANINGS, ROLE_NAMES } from './components.ts';
import { ariaAttributes, input, type Problem, postForm, problemText, time } from './forms.ts';

/** An invitation as one browser shows it. */
export interface Opened {
  path: string;
  csrf: string;
  invitation: Invitation;
}

/** The invitation is open, but the link in the mail is too old to prove the address. */
export function expiredBody({ path, csrf, invitation }: Opened): Html {
  return html`<div class="card"><h1>This link has expired</h1>
<p>A link in a mail works for 30 minutes, and ends when a newer one is sent. The invitation to ${invitation.businessName} is open until ${time(invitation.expiresAt)}.</p>
${postForm({ action: `${path}/mail`, csrf, body: html`<button class="primary wide">Send a new link to ${invitation.email}</button>` })}</div>`;
}

/** For a visitor who is not signed in. */
export function newcomerBody(opened: Opened, name: string, problem?: Problem): Html {
  return html`<div class="card">${offer(opened)}
<p><a class="button primary wide" href="${signInAddress(opened)}">Sign in to join</a></p></div>
${postForm({
  action: `${opened.path}/account`,
  csrf: opened.csrf,
  style: 'card',
  body: html`<h2>New here? Create an account</h2>
${input({ name: 'name', label: 'Your name', value: name, autocomplete: 'name' }, problem)}
${addressField(opened.invitation.email, problem)}
${input({ name: 'password', label: 'Password', type: 'password', hint: 'At least 8 characters.', autocomplete: 'new-password' }, problem)}
<button class="secondary wide">Create account and join</button>`,
})}`;
}

/** For password managers. It has no name and so is not submitted: the address is that of the invitation. */
function addressField(email: string, problem: Problem | undefined): Html {
  const wrong = problem?.field === 'email';
  const hint = 'The invitation is for this address, and you will sign in with it.';
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
  isMailOn: boolean;
}

/** For an account that cannot accept the invitation. The invitation stays open. */
export function obstacleBody(opened: Opened, { obstacle, user, platformName, isMailOn }: Obstructed): Html {
  const { email, businessName } = opened.invitation;
  if (obstacle === 'another address') {
    return html`<div class="card"><h1>This invitation is for another address</h1>
<p>It invites <strong>${email}</strong> to ${businessName}. You are signed in as <strong>${user.email}</strong>.</p>
<p><a class="button secondary" href="${signInAddress(opened)}">Use another account</a></p></div>`;
  }
  return html`<div class="card"><h1>Your email address is not verified yet</h1>
<p>Your account was created with an invitation to another business, and it has not been verified that <strong>${user.email}</strong> is your address. Until then the account cannot join ${businessName}.</p>
${isMailOn ? html`<p><a href="/settings/address">Have a link sent to your address</a> to verify it. Then open this invitation again. It is valid until ${time(opened.invitation.expiresAt)}.</p>` : html`<p>Ask a platform admin or an operator of ${platformName}. They can give you a one-time link to set a new password, which also verifies the address. Then open this invitation again. It is valid until ${time(opened.invitation.expiresAt)}.</p>`}
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

/** For a member of the business. The invitation stays open. */
export function memberBody({ path, invitation, csrf }: Opened): Html {
  return html`<div class="card"><h1>You are already a member of ${invitation.businessName}</h1>
<p>You do not need an invitation. This one has not been used and still works for ${invitation.email}.</p>
<div class="form-actions"><a class="button secondary" href="${businessPath(invitation, 'members')}">See the members</a>
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
