import type { BrowserPage } from './browser.ts';

/** The text of each entry of a log, without its markup. */
export function entriesOf({ text }: BrowserPage): string[] {
  const entries = [...text.matchAll(/<li class="entry">(.*?)<\/li>/gs)];
  return entries.map(([, entry = '']) => withoutMarkup(entry));
}

/** The ids of the entries, from their copy buttons. */
export function idsOf({ text }: BrowserPage): string[] {
  return [...text.matchAll(/class="copy" data-copy-value="([^"]*)"/g)].map(([, id = '']) => id);
}

/** The paths of the entries' pages. */
export function entryLinksOf({ text }: BrowserPage): string[] {
  return [...text.matchAll(/<li class="entry">.*?<a href="([^"]*)"/g)].map(([, path = '']) => path);
}

/** The names and values that a page lists. */
export function factsOf({ text }: BrowserPage): Record<string, string> {
  const facts = [...text.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)];
  return Object.fromEntries(facts.map(([, name, value = '']) => [name, withoutMarkup(value).replace(/ Copy$/, '')]));
}

function withoutMarkup(markup: string): string {
  return markup
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
