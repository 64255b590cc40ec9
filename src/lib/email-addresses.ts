import { domainToUnicode } from 'node:url';
import { mixesAlphabets, skeletonOf } from './confusables.ts';
import { FormError } from './errors.ts';
import { hasHiddenCharacters } from './names.ts';

/** RFC 5321 §4.5.3.1.3. */
export const LONGEST_EMAIL = 254;

/** An address as it is stored: one spelling for any width, case and Unicode form. */
export function readEmail(text: string): string {
  const email = normalEmail(text);
  if (!/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email) || email.length > LONGEST_EMAIL) {
    throw new FormError('email', 'Enter an email address, like ada@example.com.');
  }
  if (hasHiddenCharacters(email)) throw new FormError('email', 'Use visible characters only.');
  if (email.split(/[@.]/).some(mixesAlphabets)) throw new FormError('email', 'Use letters of one alphabet only.');
  return email;
}

export function normalEmail(email: string): string {
  return email.trim().normalize('NFKC').toLowerCase().normalize('NFKC');
}

/** Equal for two addresses that a person could mistake for each other, or that name the same domain in two encodings. */
export function emailSkeleton(email: string): string {
  const [local = '', domain = ''] = normalEmail(email).split('@');
  const name = domain.replace(/\.$/, '');
  return `${skeletonOf(local)}@${skeletonOf(domainToUnicode(name) || name)}`;
}
