import { type Html, html } from '../../lib/html.ts';

/** A sentence in which names stand between backticks. */
export function prose(text: string): Html {
  const parts = text.split('`');
  return html`${parts.map((part, place) => (place % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}
