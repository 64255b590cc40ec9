import type { Invitation } from '../accounts/invitations.ts';
import type { JoinProblem } from '../accounts/joining.ts';
import type { User } from '../accounts/users.ts';
import type { Texts } from '../languages/en.ts';
import { type Html, html } from '../lib/html.ts';
import { businessPath } from './business-address.ts';
import { bdi } from './components/display.ts';
import { ariaAttributes, input, type Problem, postForm, problemText, time } from './forms.ts';

/** An invitation as one browser shows it. */
export interface Opened {
  texts: Texts;
  path: string;
  csrf: string;
  invitation: Invitation;
}

/** The invitation is open, but the link in the mail is too old to verify the address. */
export function expiredBody({ texts, path, csrf, invitation }: Opened): Html {
  const { expiredTitle, expired, sendNew } = texts.invitation;
  const button = html`<button class="primary wide"><span>${sendNew(bdi(invitation.email))}</span></button>`;
  return html`<div class="card"><h1>${expiredTitle}</h1>
<p>${expired(bdi(invitation.businessName), time(invitation.expiresAt, texts))}</p>
${postForm({ action: `${path}/mail`, csrf, body: button })}</div>`;
}

/** For a visitor who is not signed in. Most people who are invited have no account yet. */
export function newcomerBody(opened: Opened, name: string, problem?: Problem): Html {
  const { invitation: words, fields } = opened.texts;
  return html`<div class="card">${offer(opened)}
${postForm({
  action: `${opened.path}/account`,
  csrf: opened.csrf,
  body: html`<h2>${words.newHere}</h2>
${input({ name: 'name', label: words.yourName, value: name, autocomplete: 'name' }, problem)}
${addressField(opened, problem)}
${input({ name: 'password', label: fields.password, type: 'password', hint: fields.passwordHint, autocomplete: 'new-password', show: fields.showPassword }, problem)}
<button class="primary wide">${words.createAccount}</button>`,
})}
<p class="or">${words.or}</p>
<a class="button secondary wide" href="${signInAddress(opened)}">${words.signInToJoin}</a></div>`;
}

/** For password managers. It has no name and so is not submitted: the address is that of the invitation. */
function addressField({ texts, invitation: { email } }: Opened, problem: Problem | undefined): Html {
  const wrong = problem?.field === 'email';
  const hint = texts.invitation.emailHint;
  return html`<div class="field">
<label for="email">${texts.fields.email}</label>
<p class="hint" id="email-hint">${hint}</p>
<input id="email" type="email" value="${email}" autocomplete="username" readonly ${ariaAttributes('email', { hint, wrong })}>
${wrong && problemText(problem)}
</div>`;
}

interface CannotJoin {
  joinProblem: JoinProblem;
  user: User;
  platformName: string;
  isMailOn: boolean;
}

/** For an account that cannot accept the invitation. The invitation stays open. */
export function cannotJoinBody(opened: Opened, { joinProblem, user, platformName, isMailOn }: CannotJoin): Html {
  const { texts, invitation } = opened;
  const words = texts.invitation;
  const business = bdi(invitation.businessName);
  if (joinProblem === 'another address') {
    return html`<div class="card"><h1>${words.otherAddressTitle}</h1>
<p>${words.otherAddress(strong(invitation.email), business, strong(user.email))}</p>
<p>${anotherAccount(opened)}</p></div>`;
  }
  const until = time(invitation.expiresAt, texts);
  const link = (text: string) => html`<a href="/settings/address">${text}</a>`;
  return html`<div class="card"><h1>${words.unverifiedTitle}</h1>
<p>${words.unverified(strong(user.email), business)}</p>
<p>${isMailOn ? words.verifyByMail(link, until) : words.verifyByPlatform(bdi(platformName), until)}</p>
<p>${anotherAccount(opened)}</p></div>`;
}

function anotherAccount(opened: Opened): Html {
  return html`<a class="button secondary" href="${signInAddress(opened)}">${opened.texts.signIn.anotherAccount}</a>`;
}

function strong(name: string): Html {
  return html`<strong>${bdi(name)}</strong>`;
}

export function joinBody(opened: Opened, user: User): Html {
  const { invitation, signIn } = opened.texts;
  return html`<div class="card">${offer(opened)}
${postForm({
  action: opened.path,
  csrf: opened.csrf,
  body: html`<button class="primary wide"><span>${invitation.joinAs(bdi(user.name))}</span></button>`,
})}
<p class="small muted apart">${invitation.signedInAs(bdi(user.email))} <a href="${signInAddress(opened)}">${signIn.anotherAccount}</a></p></div>`;
}

/** For a member of the business. The invitation stays open. */
export function memberBody(opened: Opened): Html {
  const { texts, invitation } = opened;
  const { memberTitle, member, seeMembers } = texts.invitation;
  return html`<div class="card"><h1>${memberTitle(bdi(invitation.businessName))}</h1>
<p>${member(bdi(invitation.email))}</p>
<div class="form-actions"><a class="button secondary" href="${businessPath(invitation, 'members')}">${seeMembers}</a>
${anotherAccount(opened)}</div></div>`;
}

function offer({ texts, invitation }: Opened): Html {
  const { businessName, inviterName, role, expiresAt } = invitation;
  const words = texts.invitation;
  const { name, meaning } = texts.roles[role];
  return html`<h1>${words.join(bdi(businessName))}</h1>
<p>${words.invites(strong(inviterName))}</p>
<dl class="facts">
<div><dt>${words.role}</dt><dd>${name}<br><span class="muted small">${meaning}</span></dd></div>
<div><dt>${words.expires}</dt><dd>${time(expiresAt, texts)}</dd></div>
</dl>`;
}

function signInAddress({ path }: Opened): string {
  return `/sign-in?${new URLSearchParams({ return_to: path })}`;
}
