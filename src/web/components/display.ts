import { type Html, html } from '../../lib/html.ts';
import { type IconName, icon } from './icon.ts';

/** `warn`: something does not work. `caution`: something needs attention. */
export type Tone = 'good' | 'caution' | 'warn';

export function badge(text: Html | string, tone?: Tone): Html {
  return html`<span class="${tone ? `badge ${tone}` : 'badge'}">${text}</span>`;
}

/** The text says what the colour says. */
export function statusDot(text: string, tone?: Tone): Html {
  return html`<span class="${tone ? `dot ${tone}` : 'dot'}">${text}</span>`;
}

interface Avatar {
  name: string;
  /** The colour follows from it, so it stays when the name changes. */
  id: string;
  /** People are round; businesses and apps are square. */
  shape?: 'round' | 'square';
  size?: 'sm' | 'lg';
}

const TONES = 8;

/** Beside the name, so screen readers skip it. */
export function avatar({ name, id, shape = 'round', size }: Avatar): Html {
  const classes = ['avatar', shape === 'square' && shape, size, `tone-${toneOf(id)}`].filter(Boolean).join(' ');
  return html`<span class="${classes}" aria-hidden="true">${initials(name, shape)}</span>`;
}

function toneOf(id: string): number {
  let sum = 0;
  for (const character of id) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 65_521;
  return sum % TONES;
}

/** The initials of a person's first and last word, and of the first word of anything else. */
function initials(name: string, shape: Avatar['shape']): string {
  const words = name.trim().split(/\s+/);
  const shown = shape === 'round' && words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  return shown.map((word) => [...(word ?? '')][0]?.toUpperCase() ?? '').join('');
}

interface EmptyState {
  icon?: IconName;
  title?: string;
  text: string;
  action?: Html | false;
}

export function emptyState({ icon: name = 'inbox', title, text, action }: EmptyState): Html {
  return html`<div class="empty">${icon(name)}${title && html`<h2>${title}</h2>`}<p>${text}</p>${action}</div>`;
}

/** What a form has done, on the page that follows. */
export function toast(text: string): Html {
  return html`<div class="done">${icon('circle-check')}<p role="status">${text}</p></div>`;
}

/** A name within a sentence, which may be written in the other direction. */
export function bdi(name: string): Html {
  return html`<bdi>${name}</bdi>`;
}

/** Something to read before continuing. */
export function notice(text: Html | string, tone?: 'caution' | 'warn'): Html {
  return html`<p class="${tone ? `notice ${tone}` : 'notice'}">${text}</p>`;
}

interface CodeBlock {
  id: string;
  code: string;
  label: string;
  /** What the button copies, if not the code as it is shown. */
  copies?: string;
}

/** The script shows the copy button. */
export function codeBlock({ id, code, label, copies }: CodeBlock): Html {
  const button = copies === undefined ? copyButton(`: ${label}`, { id }) : copyButton(`: ${label}`, { value: copies });
  return html`<div class="code-block"><pre class="sample" tabindex="0" role="region" aria-label="${label}"><code id="${id}">${code}</code></pre>${button}</div>`;
}

/** Copies the text of an element, or a value. The script shows the button. */
export function copyButton(what: string, source: { id: string } | { value: string }, title = `Copy${what}`): Html {
  const from = 'id' in source ? html`data-copy="${source.id}"` : html`data-copy-value="${source.value}"`;
  return html`<button type="button" class="copy" ${from} aria-label="Copy${what}" title="${title}" hidden></button>`;
}
