import { FormError } from './errors.ts';

/** Control characters, line breaks, what turns text around, and what fills a line without being seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** These join letters in some scripts, and the parts of an emoji. */
const JOINERS = /\u200c|\u200d|\ufe0f/g;

/** A name that a person will see and may have to trust: visible characters only, and no longer than a line. */
export function readName(field: string, text: string): string {
  const name = text.trim().normalize('NFC');
  const seen = name.replace(JOINERS, '');
  if (seen.trim() === '') throw new FormError(field, 'Enter something that can be read.');
  if ([...name].length > 80) throw new FormError(field, 'Use at most 80 characters.');
  if (UNSEEN.test(seen)) throw new FormError(field, 'Use visible characters only.');
  return name;
}
