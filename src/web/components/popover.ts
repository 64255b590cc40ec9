import { type Html, html } from '../../lib/html.ts';

interface Menu {
  id: string;
  /** What screen readers say before the content of the button. */
  label: string;
  button: Html;
  /** Whether the menu has the link to the current page. */
  isHere?: boolean;
  body: Html;
}

/** The browser opens it, and closes it on Escape or on a click elsewhere: no script. */
export function menu({ id, label, button, isHere, body }: Menu): Html {
  return html`<button type="button" class="menu-button" popovertarget="${id}" ${isHere && html`aria-current="true"`}><span class="visually-hidden">${label}</span>${button}</button>
<div class="menu" id="${id}" popover>${body}</div>`;
}

interface Dialog {
  id: string;
  /** The text of the button that opens it, and its title. */
  open: string;
  /** Names the button, if its text is not unique on the page. */
  label?: string;
  title: string;
  text: string;
  /** A form with its button. */
  action: Html;
}

/** To confirm something. Without a script, like `menu`. */
export function dialog({ id, open, label, title, text, action }: Dialog): Html {
  return html`<button type="button" class="danger" popovertarget="${id}" ${label && html`aria-label="${label}"`}>${open}</button>
<dialog id="${id}" popover aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2><p>${text}</p>
<div class="dialog-actions"><button type="button" popovertarget="${id}" popovertargetaction="hide" autofocus>Cancel</button>${action}</div></dialog>`;
}
