import { DAY } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { decodeSigned, encodeSigned } from '../lib/keyring.ts';
import type { WebDeps } from './deps.ts';
import { notFound, PageError } from './errors.ts';

/** What a form will make. Its id is chosen when the form is shown, so that sending it twice makes one. */
interface FormKey {
  id: string;
  /** Whose it will be: who acts for another by the time the form is sent is told so, rather than obeyed. */
  owner: string | null;
  until: number;
}

type FormKeyDeps = Pick<WebDeps, 'keys' | 'clock'>;

const LIFETIME = DAY;

export function formKey<More extends object>(
  { keys, clock }: FormKeyDeps,
  purpose: string,
  ticket: { owner: string | null } & More,
): string {
  return encodeSigned(keys, purpose, { id: newId(clock()), until: clock() + LIFETIME, ...ticket });
}

export function readFormKey<More extends object>(
  { keys, clock }: FormKeyDeps,
  purpose: string,
  { sealed, owner }: { sealed: string; owner: string | null },
): FormKey & More {
  const ticket = decodeSigned<FormKey & More>(keys, purpose, sealed);
  if (!ticket) throw notFound();
  if (ticket.owner !== owner) {
    throw new PageError(
      409,
      'Another place',
      'This form is about something else than you act for now. Nothing was made.',
    );
  }
  if (ticket.until <= clock())
    throw new PageError(409, 'Too late', 'This form is a day old. Open it anew. Nothing was made.');
  return ticket;
}
