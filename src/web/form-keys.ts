import { DAY } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { decodeSigned, encodeSigned } from '../lib/keyring.ts';
import type { WebDeps } from './deps.ts';
import { notFound, PageError } from './errors.ts';

/** An idempotency key: the id of the new row is chosen when the form is rendered, so that sending it twice creates one. */
interface FormKey {
  id: string;
  /** The business that will own the row; a form that is sent after a switch of business is rejected. */
  owner: string | null;
  until: number;
}

type FormKeyDeps = Pick<WebDeps, 'keys' | 'clock'>;

const LIFETIME = DAY;

export function formKey<More extends object>(
  { keys, clock }: FormKeyDeps,
  purpose: string,
  key: { owner: string | null } & More,
): string {
  return encodeSigned(keys, purpose, { id: newId(clock()), until: clock() + LIFETIME, ...key });
}

export function readFormKey<More extends object>(
  { keys, clock }: FormKeyDeps,
  purpose: string,
  { text, owner }: { text: string; owner: string | null },
): FormKey & More {
  const key = decodeSigned<FormKey & More>(keys, purpose, text);
  if (!key) throw notFound();
  if (key.owner !== owner) {
    throw new PageError(
      409,
      'You switched to another business',
      'This form belongs to another business or to the platform. Nothing was created.',
    );
  }
  if (key.until <= clock())
    throw new PageError(
      409,
      'This form has expired',
      'This form is more than a day old. Open it again. Nothing was created.',
    );
  return key;
}
