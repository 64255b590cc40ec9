import { en, type Texts } from '../../src/languages/en.ts';
import { type Html, html } from '../../src/lib/html.ts';

export const OPEN = '⟦';
export const CLOSE = '⟧';

interface MadeUp {
  tag: string;
  direction: Texts['direction'];
  /** Translates an English text. */
  write(english: string): string;
  writeHtml(english: Html): Html;
}

/** Repeats every text, with marks around it. */
export const LONG = madeUp({
  tag: 'x-long',
  direction: 'ltr',
  write: (text) => `${OPEN}${text} ${text}${CLOSE}`,
  writeHtml: (text) => html`${OPEN}${text} ${text}${CLOSE}`,
});

/** Replaces letters by Hebrew ones. */
export const RIGHT_TO_LEFT = madeUp({
  tag: 'x-rtl',
  direction: 'rtl',
  write: (text) => `${OPEN}${toHebrew(text)}${CLOSE}`,
  writeHtml: (text) => html`${OPEN}אבגד ${text} הוזח${CLOSE}`,
});

function toHebrew(text: string): string {
  return text.replace(/[a-z]/gi, (letter) => String.fromCodePoint(0x5d0 + (letter.toLowerCase().charCodeAt(0) - 97)));
}

/** Translates every text of the English language. */
function madeUp(language: MadeUp): Texts {
  const { tag, direction } = language;
  return { ...(translate(en, language) as Texts), tag, direction, name: tag };
}

function translate(value: unknown, language: MadeUp): unknown {
  if (typeof value === 'string') return language.write(value);
  if (typeof value === 'function') return (...args: unknown[]) => translate(value(...args), language);
  if (Array.isArray(value)) return value.map((item) => translate(item, language));
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getOwnPropertySymbols(value).length > 0) return language.writeHtml(value as Html);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, translate(item, language)]));
}
