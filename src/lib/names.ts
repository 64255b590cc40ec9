import { FormError } from './errors.ts';

/** Control characters, line breaks, bidirectional controls and invisible fillers. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** These characters join letters in some scripts, and the parts of an emoji. */
const JOINERS = /\u200c|\u200d|\ufe0f/g;

/** In scripts without joined letters, a joiner is invisible and only makes two names look alike. */
const NEEDLESS_JOINER =
  /[\p{sc=Latin}\p{sc=Cyrillic}\p{sc=Greek}\p{N}][\u200c\u200d]|[\u200c\u200d][\p{sc=Latin}\p{sc=Cyrillic}\p{sc=Greek}\p{N}]/u;

/** No script needs this many marks on one letter; they cover the lines around it. */
const STACKED_MARKS = /\p{M}{4}/u;

/**
 * Characters without a width, or that change the direction of a text, so that it looks like another one. Longer texts than
 * names have variants of ideographs and emoji, and words of other scripts beside joiners.
 */
const HIDDEN_IN_TEXT =
  /[\p{Bidi_Control}\u00ad\u180e\u200b\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\u034f|\p{Variation_Selector}{2}/u;

/** Between two characters that are not of these, a joiner joins nothing. */
const JOINED = String.raw`\p{Extended_Pictographic}|[^\p{sc=Latin}\p{sc=Cyrillic}\p{sc=Greek}\p{sc=Common}]`;
const UNUSED_JOINER = new RegExp(`(?<!${JOINED})[\\u200c\\u200d]+(?!${JOINED})`, 'u');

/** A name that is shown to people: visible characters only, at most 80. */
export function readName(field: string, text: string): string {
  if (text.trim() === '') throw new FormError(field, (problems) => problems.nameMissing);
  return readLine(field, text, 80);
}

/** Mail programs make links of these. A dot alone is common in names, like Booking.com. */
const ADDRESS_PART = /[/@]|(?<!\p{L})www\./iu;

/**
 * A name that people receive in mails from this server, without parts of an address. One that was chosen before this rule stays
 * until it is changed.
 */
export function readPublicName(field: string, text: string, current?: string): string {
  const name = readName(field, text);
  if (name !== current && ADDRESS_PART.test(name.normalize('NFKC')))
    throw new FormError(field, (problems) => problems.nameWithAddress);
  return name;
}

/** The optional reason for a change. */
export function readReason(field: string, text: string): string {
  return text.trim() === '' ? '' : readLine(field, text, 200);
}

function readLine(field: string, text: string, maxLength: number): string {
  const line = text.trim().normalize('NFC');
  const visible = line.replace(JOINERS, '');
  if (visible.trim() === '') throw new FormError(field, (problems) => problems.nothingVisible);
  if ([...line].length > maxLength) throw new FormError(field, (problems) => problems.tooLong(maxLength));
  if (hasHiddenCharacters(visible) || NEEDLESS_JOINER.test(line))
    throw new FormError(field, (problems) => problems.visibleOnly);
  return line;
}

/** Invisible or bidirectional characters, or more marks on a letter than any script needs. */
export function hasHiddenCharacters(text: string): boolean {
  return INVISIBLE.test(text) || STACKED_MARKS.test(text);
}

/** Zero-width or bidirectional characters in a text, which may have line breaks. */
export function hasHiddenText(text: string): boolean {
  return HIDDEN_IN_TEXT.test(text) || UNUSED_JOINER.test(text);
}

/** For text from other servers: PostgreSQL stores no NUL, and terminals interpret control characters. Keeps line breaks. */
export function replaceControls(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, '\ufffd');
}
