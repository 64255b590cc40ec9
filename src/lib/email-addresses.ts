import { domainToUnicode } from 'node:url';
import { skeletonOf } from './confusables.ts';
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
