import { FormError } from './errors.ts';

/** Control characters, line breaks, what turns text around, and what fills a line without being seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** These join letters in some scripts, and the parts of an emoji. */
const JOINERS = /\u200c|\u200d|\ufe0f/g;

/** Where letters stand alone a joiner joins nothing: it only makes two names look alike. */
const IDLE_JOINER =
  /[\p{sc=Latin}\p{sc=Cyrillic}\p{sc=Greek}\p{N}][\u200c\u200d]|[\u200c\u200d][\p{sc=Latin}\p{sc=Cyrillic}\p{sc=Greek}\p{N}]/u;

/** No script needs so many marks on one letter; they spill over the lines around it. */
const PILED_MARKS = /\p{M}{4}/u;

/** A name that a person will see and may have to trust: visible characters only, and no longer than a line. */
export function readName(field: string, text: string): string {
  if (text.trim() === '') throw new FormError(field, 'Enter a name.');
  return readLine(field, text, 80);
}

/** A remark that may be left out. */
export function readNote(field: string, text: string): string {
  return text.trim() === '' ? '' : readLine(field, text, 100);
}

/** Why something was done, for those who wonder about it later. It may be left out. */
export function readReason(field: string, text: string): string {
  return text.trim() === '' ? '' : readLine(field, text, 200);
}

function readLine(field: string, text: string, longest: number): string {
  const line = text.trim().normalize('NFC');
  const seen = line.replace(JOINERS, '');
  if (seen.trim() === '') throw new FormError(field, 'Enter something that can be read.');
  if ([...line].length > longest) throw new FormError(field, `Use at most ${longest} characters.`);
  if (hasHiddenCharacters(seen) || IDLE_JOINER.test(line)) throw new FormError(field, 'Use visible characters only.');
  return line;
}

/** Invisible or bidirectional characters, or more marks on a letter than any script needs. */
export function hasHiddenCharacters(text: string): boolean {
  return UNSEEN.test(text) || PILED_MARKS.test(text);
}
