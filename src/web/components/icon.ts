import { type Html, html } from '../../lib/html.ts';
import { ICONS } from './icons.ts';

export type IconName = keyof typeof ICONS;

/** Beside a text that says the same, so screen readers skip it. */
export function icon(name: IconName): Html {
  return html`<svg class="icon" viewBox="0 0 24 24" width="16" height="16" fill="none" stroke="currentColor" aria-hidden="true" focusable="false">${ICONS[name]}</svg>`;
}
