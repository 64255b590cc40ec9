import { en, type Texts } from '../../src/languages/en.ts';
import { type Html, html } from '../../src/lib/html.ts';

export const OPEN = '⟦';
export const CLOSE = '⟧';

interface MadeUp {
  tag: string;
  direction: Texts['direction'];
  /** How a text of the language reads, with the English one in it. */
  write(english: string): string;
  writeHtml(english: Html): Html;
}

/** Every text twice, and marked. */
export const LONG = madeUp({
  tag: 'x-long',
  direction: 'ltr',
  write: (text) => `${OPEN}${text} ${text}${CLOSE}`,
  writeHtml: (text) => html`${OPEN}${text} ${text}${CLOSE}`,
});

/** Among Hebrew letters. */
export const RIGHT_TO_LEFT = madeUp({
  tag: 'x-rtl',
  direction: 'rtl',
  write: (text) => `${OPEN}${toHebrew(text)}${CLOSE}`,
  writeHtml: (text) => html`${OPEN}אבגד ${text} הוזח${CLOSE}`,
});

function toHebrew(text: string): string {
  return text.replace(/[a-z]/gi, (letter) => String.fromCodePoint(0x5d0 + (letter.toLowerCase().charCodeAt(0) - 97)));
}

/** A language like the English one, of which every text is written differently. */
function madeUp(language: MadeUp): Texts {
  const { tag, direction } = language;
  return { ...(translate(en, language) as Texts), tag, direction, name: tag };
}

function translate(value: unknown, language: MadeUp): unknown {
  if (typeof value === 'string') return language.write(value);
  if (typeof value === 'function') return (...given: unknown[]) => translate(value(...given), language);
  if (Array.isArray(value)) return value.map((one) => translate(one, language));
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getOwnPropertySymbols(value).length > 0) return language.writeHtml(value as Html);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, translate(one, language)]));
}
