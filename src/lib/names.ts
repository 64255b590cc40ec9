import { FormError } from './errors.ts';

/** Control characters, line breaks, and the invisible ones that turn text around or hide inside it. */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/u;

/** A name that a person will see and may have to trust: visible characters only, and no longer than a line. */
export function readName(field: string, text: string): string {
  const name = text.trim().normalize('NFC');
  if (name === '') throw new FormError(field, 'Enter a name.');
  if ([...name].length > 80) throw new FormError(field, 'Use at most 80 characters.');
  if (UNSEEN.test(name)) throw new FormError(field, 'Use visible characters only.');
  return name;
}
