import type { FastifyInstance } from 'fastify';
import { listMemberships, type Membership } from '../../accounts/memberships.ts';
import { searchUsers } from '../../accounts/user-lists.ts';
import type { User } from '../../accounts/users.ts';
import { listProgress, type Progress } from '../../grants/follow-up-progress.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { avatar, badge, emptyState } from '../components/display.ts';
import { followUpProgress } from '../components/follow-up-progress.ts';
import { pluralize, roleBadge, unverifiedBadge } from '../components/product.ts';
import { pageHead, section, settings } from '../components/structure.ts';
import { connectedText } from '../connection-ends.ts';
import { day } from '../days.ts';
import type { WebDeps } from '../deps.ts';
import { copyable, time } from '../forms.ts';
import { PAGE_SIZE } from '../listing.ts';
import { loadPageContext } from '../page-context.ts';
import { findReason, mountPlatformList, sendPlatformPage } from './page.ts';
import {
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
    intro: 'Everyone who has an account.',
    label: 'Search by name, email or ID',
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
      progress: await listProgress(storage.durable, { userId: user.id }),
      memberships,
      isYou,
      reason,
      csrf: context.csrf,
    });
    return sendPlatformPage(reply, deps, { context, title: user.name, body });
  });
}

function userRow(user: User): Html {
  return html`<li class="entry">${avatar(user)}<div><a href="/platform/users/${user.id}">${user.name}</a> ${userBadges(user)}
<p class="muted small">${user.email}</p></div>
<div class="meta muted small"><span>${lastSignedIn(user)}</span></div></li>
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
  progress: Progress[];
  /** Why the user was disabled. */
  reason: string | undefined;
  memberships: Membership[];
  isYou: boolean;
  csrf: string;
}

function userBody(user: User, view: UserView): Html {
  const facts = html`<dl class="facts">
<div><dt>Email</dt><dd>${user.email}</dd></div>
<div><dt>User ID</dt><dd>${copyable('user-id', user.id)}</dd></div>
<div><dt>Added</dt><dd>${time(user.createdAt)}</dd></div>
<div><dt>Signed in</dt><dd>${pluralize(view.sessions, 'session', 'sessions')}, ${lastSignedIn(user)}</dd></div>
<div><dt>Connected apps</dt><dd>${view.impact.apps === 0 && !view.impact.isPart ? 'None' : connectedText(view.impact)}</dd></div>
</dl>`;
  return html`${pageHead({
    title: user.name,
    avatar: avatar(user),
    badges: html`${userBadges(user)} ${view.isYou && badge('You')}`,
    intro: user.email,
    back: { to: PATH, name: 'Users' },
  })}
${followUpProgress(view.progress)}
${settings({ title: 'Details', body: facts })}
${section({ title: 'Businesses', body: membershipList(view.memberships) })}
${recoverySection(user, view)}
${disableSection(user, view)}`;
}

function membershipList(memberships: Membership[]): Html {
  if (memberships.length === 0) return emptyState({ icon: 'building-2', text: 'Not a member of any business.' });
  const rows = memberships.slice(0, PAGE_SIZE).map(
    ({ businessId, businessName, role, since }) =>
      html`<li class="entry">${avatar({ id: businessId, name: businessName, shape: 'square' })}<div><a href="/platform/businesses/${businessId}">${businessName}</a></div>
<div class="meta muted small">${roleBadge(role)}<span>Since ${day(since)}</span></div></li>`,
  );
  const more = memberships.length - rows.length;
  return html`<ul class="rows">${rows}</ul>${more > 0 && html`<p class="muted">And ${pluralize(more, 'more', 'more')}.</p>`}`;
}
