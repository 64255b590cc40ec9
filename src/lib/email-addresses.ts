import { domainToUnicode } from 'node:url';
import { FormError } from './errors.ts';
import { hasHiddenCharacters } from './names.ts';

/** RFC 5321 §4.5.3.1.3. */
export const MAX_EMAIL_LENGTH = 254;

/** Validates an address and returns it as it is stored: in lower case and NFKC. */
export function readEmail(text: string): string {
  const email = normalizeEmail(text);
  if (!/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email) || email.length > MAX_EMAIL_LENGTH) {
    throw new FormError('email', (problems) => problems.emailMalformed);
  }
  if (hasHiddenCharacters(email)) throw new FormError('email', (problems) => problems.visibleOnly);
  if (email.split(/[@.]/).some(mixesScripts)) throw new FormError('email', (problems) => problems.emailMixed);
  return email;
}

export function normalizeEmail(email: string): string {
  return email.trim().normalize('NFKC').toLowerCase().normalize('NFKC');
}

/** Equal for two addresses that a person could mistake for each other, or that name the same domain in two encodings. */
export function emailSkeleton(email: string): string {
  const [local = '', domain = ''] = normalizeEmail(email).split('@');
  const name = domain.replace(/\.$/, '');
  return `${skeletonOf(local)}@${skeletonOf(domainToUnicode(name) || name)}`;
}

/**
 * Letters of other alphabets that look like an ASCII letter or digit in common fonts, by that ASCII character: a subset of
 * the confusables of Unicode (UTS 39). Characters that NFKC maps to ASCII, like full-width letters, are not listed. ASCII
 * characters are not listed either: people can compare `1` and `l`, and both occur in real addresses.
 */
const CONFUSABLES: Record<string, string> = {
  a: 'аαɑⲁꓮꭺ',
  b: 'ьƅꓐꮟᏼ',
  c: 'сϲⲥᴄꓚꮯ',
  d: 'ԁꓓꭰ',
  e: 'еҽⲉꓰꭼ',
  f: 'ꓝꞙ',
  g: 'ɡցꓖꮐᏻ',
  h: 'һհꓧꮋꮒ',
  i: 'іιıɩɪⲓꓲꭵ',
  j: 'јϳյȷꓙꭻ',
  k: 'κĸкⲕꓗꮶ',
  l: 'ӏꓡꮮ',
  m: 'мⲙꓟꮇ',
  n: 'ոռпꓠ',
  o: 'оοσօჿⲟᴏꓳ',
  p: 'рρⲣꓑꮲ',
  q: 'ԛգզ',
  r: 'гⲅꓣꭱꮢ',
  s: 'ѕꜱꓢꮥꮪ',
  t: 'тτⲧꓔꭲ',
  u: 'υսᴜʋꓴ',
  v: 'νѵᴠꓦꮩ',
  w: 'ԝѡωաᴡꓪꮃꮤ',
  x: 'хχⲭꓫ',
  y: 'уүγყʏꓬꭹꮍ',
  z: 'ᴢꓜꮓ',
  '3': 'зӡ',
  '4': 'ꮞ',
  '6': 'бϭ',
  '-': '‐‒–—−⁃˗',
  "'": '’‘ʼʹ′',
};

const ASCII_OF = new Map(Object.entries(CONFUSABLES).flatMap(([ascii, all]) => [...all].map((one) => [one, ascii])));

/** A combining dot above i or j is invisible. */
const DOT_ABOVE = /(?<=[ij])\u0307/g;

/**
 * Two texts with the same skeleton look alike (UTS 39 §4). Accents count: é is not e. The result is for comparison only, never
 * for display. Expects text in lower case.
 */
function skeletonOf(text: string): string {
  const visible = text.normalize('NFKD').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  const mapped = [...visible].map((character) => ASCII_OF.get(character) ?? character).join('');
  return mapped.replace(DOT_ABOVE, '').normalize('NFC');
}

/** Scripts that are commonly written together with Latin letters (UTS 39 §5.2, "highly restrictive"). */
const WRITTEN_WITH_LATIN = /[\p{sc=Latin}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Bopomofo}0-9]/u;

/** Whether Latin letters are mixed with letters or digits of a script that is not written together with them. */
function mixesScripts(text: string): boolean {
  const characters = text.match(/[\p{L}\p{N}]/gu) ?? [];
  return (
    characters.some((character) => /\p{sc=Latin}/u.test(character)) &&
    characters.some((character) => !WRITTEN_WITH_LATIN.test(character))
  );
}
