import { type Html, html } from '../lib/html.ts';

/** "14 Dec 2026", in UTC: the server does not know the time zone of the user. */
function formatDay(milliseconds: number): string {
  return new Date(milliseconds).toLocaleDateString('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
}

/** The script replaces it with the date format of the reader. */
export function day(milliseconds: number): Html {
  const iso = new Date(milliseconds).toISOString();
  return html`<time datetime="${iso.slice(0, 10)}" data-precise="day">${formatDay(milliseconds)}</time>`;
}
