import type { Membership } from '../accounts/memberships.ts';
import { type Html, html } from '../lib/html.ts';
import { businessPath } from './business-address.ts';
import { avatar } from './components/display.ts';
import { type IconName, icon } from './components/icon.ts';
import { menu } from './components/popover.ts';
import { postForm } from './forms.ts';
import type { PageContext } from './layout.ts';

const ACCOUNT = '/settings/account';

interface MenuEntry {
  path: string;
  name: string;
  icon: IconName;
  /** Other pages that this entry covers. */
  also?: string[];
}

/** The business switcher, the menu of the site and the account menu. */
export function navigation(context: PageContext): Html {
  return html`<div class="switcher">${businessSwitcher(context)}</div>
<nav class="site-menu" aria-label="Settings"><p class="group" aria-hidden="true">Settings</p><ul>
${listMenuEntries(context).map((entry) => html`<li>${link(context, entry)}</li>`)}
</ul></nav>
<div class="account">${accountMenu(context)}</div>`;
}

function listMenuEntries({ current, user }: PageContext): MenuEntry[] {
  return [
    ...businessEntries(current),
    ...(user.isPlatformAdmin ? [{ path: '/platform', name: 'Platform', icon: 'shield' as const }] : []),
  ];
}

function businessEntries(business: Membership | undefined): MenuEntry[] {
  if (!business) return [{ path: '/settings/connected-apps', name: 'Connected apps', icon: 'blocks' }];
  const entry = (page: string, name: string, icon: IconName): MenuEntry => ({
    path: businessPath(business, page),
    name,
    icon,
  });
  const isOwner = business.role === 'owner';
  return [
    entry('connected-apps', 'Connected apps', 'blocks'),
    entry('members', 'Members', 'users'),
    ...(isOwner ? [entry('settings', 'Business', 'building-2'), entry('audit-log', 'Audit log', 'scroll-text')] : []),
    entry('developer', 'Developer', 'code-xml'),
  ];
}

function link(context: PageContext, entry: MenuEntry): Html {
  return html`<a href="${entry.path}" ${isHere(context, entry) && html`aria-current="page"`}>${icon(entry.icon)}${entry.name}</a>`;
}

function isHere(
  { path: opened, menuPath: here = opened }: PageContext,
  entry: Pick<MenuEntry, 'path' | 'also'>,
): boolean {
  const [page = ''] = here.split('?');
  return [entry.path, ...(entry.also ?? [])].some((path) => page === path || page.startsWith(`${path}/`));
}

function businessSwitcher(context: PageContext): Html {
  const { current, memberships } = context;
  if (!current) return html`<p class="menu-button muted">No business</p>`;
  const shown = html`${businessAvatar(current)}<span class="menu-name">${current.businessName}</span>`;
  if (memberships.length < 2) return html`<div class="menu-button alone">${shown}</div>`;
  return menu({
    id: 'businesses',
    label: 'Current business:',
    button: html`${shown}${icon('chevrons-up-down')}`,
    body: html`<p class="menu-title">Switch to</p>
${postForm({
  action: '/settings/current-business',
  csrf: context.csrf,
  body: html`<input type="hidden" name="return_to" value="${context.path}">
${memberships.map((membership) => businessButton(membership, current))}`,
})}`,
  });
}

function businessButton(membership: Membership, current: Membership): Html {
  const { businessId, businessName } = membership;
  const isCurrent = businessId === current.businessId;
  return html`<button name="business" value="${businessId}" ${isCurrent && html`aria-current="true"`}>${businessAvatar(membership)}<span>${businessName}</span>${isCurrent && icon('check')}</button>`;
}

function businessAvatar({ businessId, businessName }: Membership): Html {
  return avatar({ name: businessName, id: businessId, shape: 'square', size: 'sm' });
}

function accountMenu(context: PageContext): Html {
  const { user, csrf } = context;
  const here = isHere(context, {
    path: ACCOUNT,
    also: ['/settings/address', '/settings/two-step', '/settings/delete-account'],
  });
  return menu({
    id: 'account',
    label: 'Account of',
    isHere: here,
    button: html`${avatar({ ...user, size: 'sm' })}<span><span>${user.name}</span> <span class="muted small">${user.email}</span></span>`,
    body: html`<p class="menu-title">${user.name}<br>${user.email}</p>
<a href="${ACCOUNT}" ${here && html`aria-current="page"`}>${icon('user-round')}Account</a>
<hr>
${postForm({ action: '/sign-out', csrf, body: html`<button>${icon('log-out')}Sign out</button>` })}`,
  });
}
