/**
 * Letters of other alphabets that look like an ASCII letter or digit in common fonts, by what they look like: a subset of
 * the confusables of Unicode (UTS 39). What NFKC maps to ASCII already, as full-width letters, is not listed. No ASCII
 * character is listed either: people can compare `1` and `l`, and both occur in real addresses.
 */
const LOOK_ALIKES: Record<string, string> = {
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

const ASCII_OF = new Map(Object.entries(LOOK_ALIKES).flatMap(([ascii, all]) => [...all].map((one) => [one, ascii])));

/** The dot of an i: with or without it the letter looks the same. */
const DOT_ABOVE = /(?<=[ij])\u0307/g;

/**
 * Two texts with the same skeleton look alike (UTS 39 §4). Accents count: é is not e. The result is for comparison only, never
 * for display. Expects text in lower case.
 */
export function skeletonOf(text: string): string {
  const visible = text.normalize('NFKD').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  const mapped = [...visible].map((character) => ASCII_OF.get(character) ?? character).join('');
  return mapped.replace(DOT_ABOVE, '').normalize('NFC');
}

/** Scripts that are commonly written together with Latin letters (UTS 39 §5.2, "highly restrictive"). */
const BESIDE_LATIN = /[\p{sc=Latin}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Bopomofo}0-9]/u;

/** Whether Latin letters are mixed with letters or digits of a script that is not written together with them. */
export function mixesAlphabets(text: string): boolean {
  const signs = text.match(/[\p{L}\p{N}]/gu) ?? [];
  return signs.some((sign) => /\p{sc=Latin}/u.test(sign)) && signs.some((sign) => !BESIDE_LATIN.test(sign));
}
