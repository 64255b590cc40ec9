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
export function skeletonOf(text: string): string {
  const visible = text.normalize('NFKD').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  const mapped = [...visible].map((character) => ASCII_OF.get(character) ?? character).join('');
  return mapped.replace(DOT_ABOVE, '').normalize('NFC');
}

/** ASCII characters that look alike in common fonts. For names only: in an address, both are common, and people compare them. */
const ASCII_TWINS: [RegExp, string][] = [
  [/[i1|]/g, 'l'],
  [/0/g, 'o'],
  [/rn/g, 'm'],
];

/** Whether a name looks like one of the others. Only letters and digits count: case, spaces and symbols are easily overlooked. */
export function looksLikeAny(name: string, others: string[]): boolean {
  const skeleton = nameSkeleton(name);
  return others.some((other) => nameSkeleton(other) === skeleton);
}

function nameSkeleton(name: string): string {
  const skeleton = skeletonOf(name.normalize('NFKC').toLowerCase());
  const folded = ASCII_TWINS.reduce((text, [twin, letter]) => text.replace(twin, letter), skeleton);
  return folded.replace(/[^\p{L}\p{M}\p{N}]/gu, '');
}
