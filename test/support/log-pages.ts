import type { BrowserPage } from './browser.ts';

/** What each entry of a log says, without its markup. */
export function entriesOf({ text }: BrowserPage): string[] {
  const entries = [...text.matchAll(/<li class="entry">(.*?)<\/li>/gs)];
  return entries.map(([, entry = '']) => withoutMarkup(entry));
}

/** The ids of the entries, as the copy buttons have them. */
export function idsOf({ text }: BrowserPage): string[] {
  return [...text.matchAll(/class="copy" data-copy-value="([^"]*)"/g)].map(([, id = '']) => id);
}

/** The pages of the entries. */
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
