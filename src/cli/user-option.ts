import { findUser, findUserByEmail, type User } from '../accounts/users.ts';
import { isId } from '../lib/ids.ts';
import type { Database } from '../storage/storage.ts';
import { type Option, type Options, required } from './command.ts';

export const USER: Option = { value: 'USER', help: 'The id or the email address of the user', required: true };

/** The user whose id or email address is the value of the option. */
export async function requireUser(db: Database, options: Options, option = 'user'): Promise<User> {
  const text = options.text(option);
  return required(await (isId(text) ? findUser(db, text) : findUserByEmail(db, text)), option, 'user');
}
