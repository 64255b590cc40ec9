import { type Html, html } from '../../lib/html.ts';
import type { PageContext } from '../layout.ts';

const TABS = [
  { path: '/platform/apps', name: 'All apps' },
  { path: '/platform/developer/apps', name: 'First-party apps' },
  { path: '/platform/businesses', name: 'Businesses' },
  { path: '/platform/users', name: 'Users' },
  { path: '/platform/audit-log', name: 'Audit log' },
];

/** The way around the platform's own pages; it stands at the top of each. */
export function platformTabs({ path: here }: Pick<PageContext, 'path'>): Html {
  const [page = ''] = here.split('?');
  const isHere = (path: string) => page === path || page.startsWith(`${path}/`);
  return html`<nav class="tabs" aria-label="Platform"><ul>
${TABS.map(({ path, name }) => html`<li><a href="${path}" ${isHere(path) && html`aria-current="page"`}>${name}</a></li>`)}
</ul></nav>`;
}
