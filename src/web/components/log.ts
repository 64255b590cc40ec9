import { type Html, html } from '../../lib/html.ts';
import { copyButton, statusDot, type Tone } from './display.ts';

interface LogEntry {
  /** The page of the entry. */
  to: string;
  status: { text: string; tone?: Tone | undefined };
  title: string;
  /** After the title, as far as there is room. */
  about: (Html | string | null | undefined | false)[];
  at: Html;
  /** In milliseconds. */
  took: number | null;
  id: Html;
}

/** One line per entry. All of it leads to the page of the entry, except its buttons. */
export function logEntry({ to, status, title, about, at, took, id }: LogEntry): Html {
  const known = about.filter(Boolean);
  return html`<li class="entry">${statusDot(status.text, status.tone)}<div><a href="${to}"><code>${title}</code></a>${known.map((text) => html` <span>${text}</span>`)}</div>
<div class="log-meta"><span>${took !== null && duration(took)}</span>${id}${at}</div></li>
`;
}

export function duration(milliseconds: number): string {
  return milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

export function logList(label: string, entries: Html[]): Html {
  return html`<ul class="rows log" aria-label="${label}">
${entries}</ul>`;
}

/** The random end of an id. The button, which the script shows, copies all of it. */
export function shortId(id: string, label: string): Html {
  const end = id.slice(-8);
  return html`<span class="short-id"><code>…${end}</code>${copyButton(` ${label} ending in ${end}`, { value: id }, `${label}: ${id}`)}</span>`;
}

/** Names with their values, of which some may be missing. */
export function facts(values: Record<string, Html | string | null | undefined | false>): Html {
  const known = Object.entries(values).filter(([, value]) => value);
  return html`<dl class="facts">${known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}
