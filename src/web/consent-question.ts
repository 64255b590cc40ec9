import type { Session } from '../accounts/sessions.ts';
import { HOUR } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { decodeSigned, encodeSigned, type Keyring } from '../lib/keyring.ts';
import type { Scopes } from '../lib/scope-lists.ts';
import { hashSecret } from '../lib/secrets.ts';
import { forbidden } from './errors.ts';
import { type Form, text } from './forms.ts';

/** What the screen was about. It travels through the form, sealed, and counts only in the session it was put to. */
export interface Question {
  query: string;
  session: string;
  grantId: string;
  businessId: string;
  /** The scopes on the screen. A request without `scope` depends on what the app is allowed, and that can change. */
  scopes: Scopes;
  shownAt: number;
}

const ANSWER_WITHIN = HOUR;

export function newQuestion(
  { session, ...question }: Pick<Question, 'query' | 'businessId' | 'scopes'> & { session: Session },
  now: number,
): Question {
  return { ...question, session: hashSecret(session.id), grantId: newId(now), shownAt: now };
}

export function sealQuestion(keys: Keyring, question: Question): string {
  return encodeSigned(keys, 'consent', question);
}

export function readQuestion(keys: Keyring, form: Form, session: Session): Question {
  const question = decodeSigned<Question>(keys, 'consent', text(form, 'question'));
  if (question?.session === hashSecret(session.id)) return question;
  throw forbidden('This question was put to someone else, or has been changed. Go back to the app.');
}

export function isStale({ shownAt }: Question, now: number): boolean {
  return now - shownAt >= ANSWER_WITHIN;
}
