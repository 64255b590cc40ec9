import { type Html, html } from '../../lib/html.ts';
import { icon } from './icon.ts';

interface Head {
  title: string;
  /** Before the title. */
  avatar?: Html;
  /** Beside the title. */
  badges?: Html | false;
  intro?: Html | string | false;
  /** The page above this one. */
  back?: { to: string; name: string };
  /** Buttons. */
  actions?: Html | false | undefined;
}

/** The head of a page: the page above it, its title, what it is about, and its actions. */
export function pageHead({ title, avatar, badges, intro, back, actions }: Head): Html {
  const text = html`<div><h1>${title} ${badges}</h1>
${intro && html`<p class="muted">${intro}</p>`}</div>`;
  return html`${back && backLink(back)}<div class="head">${avatar ? html`<div class="with-avatar">${avatar}${text}</div>` : text}
${actions && html`<div class="actions">${actions}</div>`}</div>`;
}

export function backLink({ to, name }: { to: string; name: string }): Html {
  return html`<a class="back" href="${to}">${icon('arrow-left')}${name}</a>`;
}

interface Section {
  title: string;
  id?: string;
  intro?: Html | string | false;
  actions?: Html | false | undefined;
  body: Html;
}

export function section({ title, id, intro, actions, body }: Section): Html {
  const heading = html`<h2>${title}</h2>${intro && html`<p class="muted">${intro}</p>`}`;
  return html`<section class="card" ${id && html`id="${id}"`}>${
    actions ? html`<div class="head"><div>${heading}</div><div class="actions">${actions}</div></div>` : heading
  }
${body}</section>`;
}

export interface Settings {
  title: string;
  intro?: Html | string | false;
  body: Html;
}

/** A section of a settings page: on wide screens, what it is about is on the left, and its fields are on the right. */
export function settings({ id, ...shown }: Settings & { id?: string }): Html {
  return html`<section class="card settings" ${id && html`id="${id}"`}>${columns(shown)}</section>`;
}

/** Several such sections that one form saves. */
export function settingsForm(parts: Settings[], buttons: Html): Html {
  return html`${parts.map((part) => html`<section class="settings">${columns(part)}</section>`)}
<div class="settings"><div class="settings-body">${buttons}</div></div>`;
}

function columns({ title, intro, body }: Settings): Html {
  return html`<div class="settings-about"><h2>${title}</h2>${intro && html`<p class="muted">${intro}</p>`}</div>
<div class="settings-body">${body}</div>`;
}

interface DangerousAction {
  title: string;
  text: Html | string;
  /** A link to a page that asks again, or a form. */
  action: Html;
}

/** The last section of a page. */
export function dangerZone(rows: (DangerousAction | false)[]): Html {
  const row = ({ title, text, action }: DangerousAction) =>
    html`<li><div><strong>${title}</strong><p class="muted small">${text}</p></div>${action}</li>`;
  return html`<section class="card danger-zone"><h2>Danger zone</h2>
<ul class="rows">${rows.map((each) => each && row(each))}</ul></section>`;
}

interface Question {
  title: string;
  /** The page to which it belongs. */
  back?: { to: string; name: string } | false;
  body: Html;
}

/** A page that asks before something happens. Its buttons are a `form-actions` in the body. */
export function question({ title, back, body }: Question): Html {
  return html`${back && backLink(back)}<div class="card question"><h1>${title}</h1>
${body}</div>`;
}

/** Rows in a card. Each row is an `li` of its page. */
export function list(rows: Html[]): Html {
  return html`<div class="card"><ul class="rows">${rows}</ul></div>`;
}

interface Table {
  label: string;
  columns: string[];
  rows: (Html | string)[][];
}

/** Scrolls sideways on wide screens. On a phone each row is a block, and each cell has the name of its column. */
export function table({ label, columns, rows }: Table): Html {
  return html`<div class="table stack" role="region" aria-label="${label}" tabindex="0"><table>
<thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${rows.map(
    (cells) =>
      html`<tr>${cells.map((cell, i) => (cell === '' ? html`<td></td>` : html`<td data-label="${columns[i]}">${cell}</td>`))}</tr>`,
  )}</tbody></table></div>`;
}

export interface Link {
  to: string;
  name: string;
  isHere: boolean;
}

/** The pages of one thing. They scroll on a phone. */
export function tabs(label: string, links: Link[]): Html {
  return html`<nav class="tabs" aria-label="${label}"><ul>
${links.map(({ to, name, isHere }) => html`<li><a href="${to}" ${isHere && html`aria-current="page"`}>${name}</a></li>`)}
</ul></nav>`;
}

/** The sections of a long page, each with the id of its element. */
export function contents(sections: { id: string; name: string }[]): Html {
  return html`<nav class="on-this-page" aria-label="On this page"><ul>
${sections.map(({ id, name }) => html`<li><a href="#${id}">${name}</a></li>`)}
</ul></nav>`;
}

/** A choice of what one page shows. */
export function segments(label: string, links: Link[]): Html {
  return html`<nav class="segments" aria-label="${label}"><ul>
${links.map(({ to, name, isHere }) => html`<li><a href="${to}" ${isHere && html`aria-current="true"`}>${name}</a></li>`)}
</ul></nav>`;
}
