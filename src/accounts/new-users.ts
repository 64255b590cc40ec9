import { emailSkeleton } from '../lib/email-addresses.ts';
import { newId } from '../lib/ids.ts';
import type { Row } from '../storage/tables.ts';

export interface NewUser {
  email: string;
  name: string;
  password: string;
  isPlatformAdmin: boolean;
  /** For an account that was created with an invitation: its address is not verified. */
  originBusinessId?: string;
  /** The language of the page that created the account. */
  language?: string | null;
}

export function newUserRow(user: Omit<NewUser, 'password'> & { passwordHash: string }, now: number): Row<'users'> {
  const { email, name, passwordHash, isPlatformAdmin, originBusinessId, language = null } = user;
  return {
    id: newId(now),
    email,
    email_skeleton: emailSkeleton(email),
    email_verified_at: originBusinessId === undefined ? now : null,
    origin_business_id: originBusinessId ?? null,
    name,
    language,
    password_hash: passwordHash,
    platform_admin: isPlatformAdmin ? 1 : 0,
    current_business_id: null,
    last_signed_in_at: null,
    created_at: now,
    disabled_at: null,
  };
}
