import { type Html, html } from '../lib/html.ts';
import { QUOTED } from '../lib/quotes.ts';

/**
 * What joins the parts of an address: Booking.com is a name, and mail programs make a link of it. Names from before
 * `readPublicName` have whole addresses.
 */
const JOINTS = /([.。．｡:/@]+)(?=\S)/u;
const EVERY_JOINT = new RegExp(JOINTS, 'gu');

/** In HTML, an element around each joint: the text is copied as it is. */
export function markUpNoLinks(text: string): Html {
  return html`${text.split(JOINTS).map((part, i) => (i % 2 === 1 ? html`<span>${part}</span>` : part))}`;
}

/** In plain text, a space after each joint: it is visible, and no invisible character is copied with the name. */
export function noLinks(text: string): string {
  return text.replace(EVERY_JOINT, '$& ');
}

/** In the quoted names of a sentence. */
export function noLinksInNames(text: string): string {
  return text.replace(QUOTED, noLinks);
}
