import type { Membership } from '../../accounts/memberships.ts';
import type { User } from '../../accounts/users.ts';
import type { Impact } from '../../grants/impact.ts';
import { type Html, html } from '../../lib/html.ts';
import { pluralize, unverifiedBadge } from '../components.ts';
import { copyable, type Problem, postForm, problemText, time } from '../forms.ts';
import { PAGE_SIZE } from '../listing.ts';
import { roleBadge } from '../settings/members/fields.ts';
import { reasonField, reasonText } from './reasons.ts';
import { recoverySection } from './user-recovery.ts';

/** What belongs to a user at this moment. */
interface Belongings {
  sessions: number;
  reach: Impact;
  csrf: string;
}

export function userRow(user: User): Html {
  return html`<li><div><a href="/platform/users/${user.id}">${user.name}</a> ${userBadges(user)}
<p class="muted small">${user.email} · ${lastSignedIn(user)}</p></div></li>
`;
}

export function userBadges(user: Pick<User, 'isPlatformAdmin' | 'disabledAt' | 'emailVerifiedAt'>): Html {
  return html`${user.isPlatformAdmin && html`<span class="badge">Platform admin</span>`}
${user.disabledAt !== null && html`<span class="badge warn">Disabled</span>`}
${unverifiedBadge(user)}`;
}

function lastSignedIn({ lastSignedInAt }: User): Html {
  return lastSignedInAt === null ? html`never signed in` : html`last signed in ${time(lastSignedInAt)}`;
}

interface UserView extends Belongings {
  /** Why they were disabled, if someone said so. */
  reason: string | undefined;
  memberships: Membership[];
  isYou: boolean;
}

export function userBody(user: User, view: UserView): Html {
  return html`<h1>${user.name} ${userBadges(user)} ${view.isYou && html`<span class="badge">You</span>`}</h1>
<section class="card"><h2>The user</h2>
<dl class="facts">
<div><dt>Email</dt><dd>${user.email}</dd></div>
<div><dt>User id</dt><dd>${copyable('user-id', user.id)}</dd></div>
<div><dt>Added</dt><dd>${time(user.createdAt)}</dd></div>
<div><dt>Signed in</dt><dd>${pluralize(view.sessions, 'session', 'sessions')}, ${lastSignedIn(user)}</dd></div>
<div><dt>Has connected</dt><dd>${connectedText(view.reach)}</dd></div>
</dl></section>
<section class="card"><h2>Businesses</h2>${membershipList(view.memberships)}</section>
${recoverySection(user, view)}
${switchSection(user, view)}`;
}

function membershipList(memberships: Membership[]): Html {
  if (memberships.length === 0) return html`<p class="empty">A member of no business.</p>`;
  const rows = memberships.slice(0, PAGE_SIZE).map(
    ({ businessId, businessName, role, since }) =>
      html`<li><div><a href="/platform/businesses/${businessId}">${businessName}</a> ${roleBadge(role)}
<p class="muted small">Since ${time(since)}</p></div></li>`,
  );
  const more = memberships.length - rows.length;
  return html`<ul class="rows">${rows}</ul>${more > 0 && html`<p class="muted">And ${pluralize(more, 'more', 'more')}.</p>`}`;
}

function switchSection(user: User, { isYou, reason, csrf }: UserView): Html | false {
  const path = `/platform/users/${user.id}`;
  if (user.disabledAt !== null) {
    return html`<section class="card"><h2>Disabled</h2>
<p>Disabled since ${time(user.disabledAt)}: the user cannot sign in, and nothing that they allowed works. Once enabled, what they allowed works again.</p>
${reasonText(reason)}
${postForm({ action: `${path}/enable`, csrf, body: html`<button class="primary">Enable</button>` })}</section>`;
  }
  if (isYou) return false;
  return html`<section class="card"><h2>Disable</h2>
<p>Disabling signs the user out everywhere, and stops every app that they connected, at once. It can be undone.</p>
<p><a class="button danger" href="${path}/disable">Disable…</a></p></section>`;
}

interface Question extends Belongings {
  solelyOwned: string[];
  /** As a reason, sound or not. */
  typed: string;
  problem: Problem | undefined;
}

/** Asked before it is done, with what it would stop at this moment. */
export function disableBody(user: User, { sessions, reach, solelyOwned, csrf, typed, problem }: Question): Html {
  const path = `/platform/users/${user.id}`;
  const [first, ...others] = solelyOwned;
  const owned = others.length === 0 ? first : `${first} and ${pluralize(others.length, 'other', 'others')}`;
  return html`<div class="card"><h1>Disable ${user.name}?</h1>
${problem?.field === 'user' && problemText(problem)}
<p>${user.email} is signed in with <strong>${pluralize(sessions, 'session', 'sessions')}</strong>, which end, and has connected <strong>${connectedText(reach)}</strong>, which stop at their next call.</p>
${owned !== undefined && html`<p class="notice">Nobody else owns ${owned}: until the user is enabled, nobody can manage its members.</p>`}
<p>Once the user is enabled again, they can sign in, and what they allowed works again.</p>
${postForm({
  action: `${path}/disable`,
  csrf,
  body: html`${reasonField({ hint: 'Platform admins read it here and in the audit log.', value: typed, problem })}
<div class="answers"><a class="button secondary" href="${path}">Keep the user</a><button class="danger">Disable user</button></div>`,
})}</div>`;
}

function connectedText({ apps, businesses }: Impact): string {
  if (apps === 0) return 'no apps';
  return `${pluralize(apps, 'app', 'apps')} in ${pluralize(businesses, 'business', 'businesses')}`;
}
