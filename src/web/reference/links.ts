import { type Html, html } from '../../lib/html.ts';

const LINKS = [
  { path: '/docs/guides', name: 'Guides' },
  { path: '/docs', name: 'API reference' },
  { path: '/docs/errors', name: 'Errors' },
];

/** For the bar of the pages below /docs. */
export function documentationLinks(here: string): Html {
  const items = LINKS.map(
    ({ path, name }) => html`<li><a href="${path}" ${path === here && html`aria-current="page"`}>${name}</a></li>`,
  );
  return html`<nav aria-label="Documentation"><ul class="bar-links">${items}</ul></nav>`;
}
