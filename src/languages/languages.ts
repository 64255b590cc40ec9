import { de } from './de.ts';
import { en, type Texts } from './en.ts';

/** The first is the default. */
export type Languages = readonly [Texts, ...Texts[]];

/** Every language that the hosted pages and mails are in. */
export const LANGUAGES: Languages = [en, de];

/** What is known about the language of a reader, in order of precedence. */
interface LanguagePreferences {
  /** The parameter of an authorize request (OpenID Connect Core §3.1.2.1): tags, separated by spaces. */
  uiLocales?: string | undefined;
  /** What the user chose on the account page. */
  setting?: string | null | undefined;
  /** The header (RFC 9110 §12.5.4). */
  acceptLanguage?: string | undefined;
}

export function chooseLanguage(
  languages: Languages,
  { uiLocales, setting, acceptLanguage }: LanguagePreferences,
): Texts {
  const tags = [...listTags(uiLocales ?? ''), setting ?? '', ...listAccepted(acceptLanguage ?? '')];
  for (const tag of tags) {
    const found = findLanguage(languages, tag);
    if (found) return found;
  }
  return languages[0];
}

/** No browser or app sends more. */
const MAX_LENGTH = 1000;

function listTags(uiLocales: string): string[] {
  return uiLocales.length > MAX_LENGTH ? [] : uiLocales.split(' ');
}

/** The ones that are preferred first. A wildcard matches the default, which is used anyway. */
function listAccepted(header: string): string[] {
  if (header.length > MAX_LENGTH) return [];
  return header
    .split(',')
    .map((range) => {
      const [tag = '', ...parameters] = range.split(';').map((part) => part.trim());
      const weight = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2);
      return { tag, weight: weight === undefined ? 1 : Number(weight) };
    })
    .filter(({ weight }) => weight > 0 && weight <= 1)
    .sort((one, other) => other.weight - one.weight)
    .map(({ tag }) => tag);
}

/** Lookup by RFC 4647 §3.4: `de-AT` finds `de`. */
export function findLanguage(languages: Languages, tag: string): Texts | undefined {
  if (tag.length > MAX_LENGTH) return undefined;
  for (let range = tag.toLowerCase(); range !== ''; range = range.slice(0, Math.max(0, range.lastIndexOf('-')))) {
    const found = languages.find((texts) => texts.tag.toLowerCase() === range);
    if (found) return found;
  }
  return undefined;
}
