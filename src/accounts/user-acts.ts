import type { NewAct, UserActor } from '../audit/acts.ts';
import type { User } from './users.ts';

/** Someone for themselves, and from where. */
export function userActor({ id, name, email }: User, address: string | null): UserActor {
  return { kind: 'user', id, name, email, address };
}

/** Someone to whom something is done. */
export function auditedUser({ id, name }: Pick<User, 'id' | 'name'>): NewAct['subject'] {
  return { kind: 'user', id, name };
}
