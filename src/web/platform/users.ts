import type { FastifyInstance } from 'fastify';
import { listMemberships, type Membership } from '../../accounts/memberships.ts';
import { searchUsers } from '../../accounts/user-lists.ts';
import type { User } from '../../accounts/users.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { avatar } from '../components/display.ts';
import { pluralize, roleBadge, unverifiedBadge } from '../components.ts';
import type { WebDeps } from '../deps.ts';
import { copyable, time } from '../forms.ts';
import { PAGE_SIZE } from '../listing.ts';
import { loadPageContext } from '../page-context.ts';
import { findReason, mountPlatformList, sendPlatformPage } from './page.ts';
import {
  connectedText,
  disableSection,
  loadUserImpact,
  mountUserActions,
  PATH,
  recoverySection,
  requireUser,
  type UserImpact,
  type UserRoute,
} from './user-actions.ts';

/** All users of the platform. */
export function mountUsers(host: FastifyInstance, deps: WebDeps): void {
  mountPlatformList(host, deps, {
    path: PATH,
    title: 'Users',
    label: 'Search by name, email or id',
    search: (terms) => searchUsers(deps.storage.durable, terms),
    toRows: (users) => users.map(userRow),
  });
  mountUser(host, deps);
  mountUserActions(host, deps);
}

function mountUser(host: FastifyInstance, deps: WebDeps): void {
  const { storage } = deps;
  host.get<UserRoute>(`${PATH}/:id`, access('platform_admin'), async (request, reply) => {
    const context = await loadPageContext(deps, request);
    const user = await requireUser(storage.durable, request.params.id);
    const memberships = await listMemberships(storage.durable, user.id);
    const isYou = user.id === context.user.id;
    const reason = user.disabledAt === null ? undefined : await findReason(storage.durable, user.id, 'user.disabled');
    const body = userBody(user, {
      ...(await loadUserImpact(deps, user)),
      memberships,
      isYou,
      reason,
      csrf: context.csrf,
    });
    return sendPlatformPage(reply, deps, { context, title: user.name, body });
  });
}

function userRow(user: User): Html {
  return html`<li>${avatar(user)}<div><a href="/platform/users/${user.id}">${user.name}</a> ${userBadges(user)}
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

interface UserView extends UserImpact {
  /** Why the user was disabled. */
  reason: string | undefined;
  memberships: Membership[];
  isYou: boolean;
  csrf: string;
}

function userBody(user: User, view: UserView): Html {
  return html`<h1>${user.name} ${userBadges(user)} ${view.isYou && html`<span class="badge">You</span>`}</h1>
<section class="card"><h2>Details</h2>
<dl class="facts">
<div><dt>Email</dt><dd>${user.email}</dd></div>
<div><dt>User id</dt><dd>${copyable('user-id', user.id)}</dd></div>
<div><dt>Added</dt><dd>${time(user.createdAt)}</dd></div>
<div><dt>Signed in</dt><dd>${pluralize(view.sessions, 'session', 'sessions')}, ${lastSignedIn(user)}</dd></div>
<div><dt>Connected apps</dt><dd>${view.impact.apps === 0 ? 'None' : connectedText(view.impact)}</dd></div>
</dl></section>
<section class="card"><h2>Businesses</h2>${membershipList(view.memberships)}</section>
${recoverySection(user, view)}
${disableSection(user, view)}`;
}

function membershipList(memberships: Membership[]): Html {
  if (memberships.length === 0) return html`<p class="empty">Not a member of any business.</p>`;
  const rows = memberships.slice(0, PAGE_SIZE).map(
    ({ businessId, businessName, role, since }) =>
      html`<li>${avatar({ id: businessId, name: businessName, shape: 'square' })}<div><a href="/platform/businesses/${businessId}">${businessName}</a> ${roleBadge(role)}
<p class="muted small">Since ${time(since)}</p></div></li>`,
  );
  const more = memberships.length - rows.length;
  return html`<ul class="rows">${rows}</ul>${more > 0 && html`<p class="muted">And ${pluralize(more, 'more', 'more')}.</p>`}`;
}
