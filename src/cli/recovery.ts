import { deletePasskeysOfUser } from '../accounts/passkeys.ts';
import { createPasswordLink } from '../accounts/password-links.ts';
import { auditedUser } from '../accounts/user-acts.ts';
import { findUser, hashNewPassword, markEmailVerified, type User } from '../accounts/users.ts';
import { type Action, OPERATOR, recordAudit } from '../audit/acts.ts';
import { readConsentUrl } from '../config.ts';
import { resetAccount } from '../grants/account-reset.ts';
import { systemClock } from '../lib/clock.ts';
import type { Database } from '../storage/storage.ts';
import { type Command, required, withStorage } from './command.ts';
import { askPassword } from './password-prompt.ts';

export const USER = { value: 'ID', help: 'The user’s id', required: true };
export const PASSWORD = { value: 'PASSWORD', help: 'At least 8 characters; left out, it is asked for' };

/** How a user who cannot sign in any more, or whose account someone else has used, gets it back. */
export const recoveryCommands: Command[] = [
  {
    name: 'user set-password',
    summary: 'Set a user’s password, end their sessions and remove their passkeys',
    options: {
      user: USER,
      password: PASSWORD,
      'end-grants': { help: 'End the access of every app that they allowed' },
    },
    async run(options, env) {
      const password = options.text('password') || (await askPassword());
      const endsGrants = options.flag('end-grants');
      return withStorage(env, async (storage) => {
        const user = required(await findUser(storage.durable, options.text('user')), 'user', 'user');
        const hash = await hashNewPassword(user, password);
        const now = systemClock();
        await storage.transaction(async (db) => {
          await resetAccount(db, { userId: user.id, hash, endsGrants }, now);
          await recordByOperator(db, 'user.password_changed', user, now);
        });
        return { ...user, grantsEnded: endsGrants };
      });
    },
  },
  {
    name: 'user password-link',
    summary: 'Create a link with which a user sets a new password, once, within 24 hours; prints it, this once',
    options: { user: USER },
    run: (options, env) => {
      const consentUrl = readConsentUrl(env);
      return withStorage(env, ({ transaction }) =>
        transaction(async (db) => {
          const wanted = { userId: options.text('user'), by: OPERATOR, businessId: null };
          const user = required(await findUser(db, wanted.userId), 'user', 'user');
          const link = required(await createPasswordLink(db, wanted, systemClock()), 'user', 'user');
          return { email: user.email, expiresAt: link.expiresAt, link: `${consentUrl}/password/${link.token}` };
        }),
      );
    },
  },
  {
    name: 'user verify-email',
    summary: 'State that a user’s email address is theirs, so that they can join other businesses',
    options: { user: USER },
    run: (options, env) =>
      withStorage(env, ({ transaction }) =>
        transaction(async (db) => {
          const user = required(await findUser(db, options.text('user')), 'user', 'user');
          const now = systemClock();
          if (await markEmailVerified(db, user.id, now)) await recordByOperator(db, 'user.email_verified', user, now);
          return findUser(db, user.id);
        }),
      ),
  },
  {
    name: 'user remove-passkeys',
    summary: 'Remove every passkey of a user',
    options: { user: USER },
    run: (options, env) =>
      withStorage(env, ({ transaction }) =>
        transaction(async (db) => {
          const user = required(await findUser(db, options.text('user')), 'user', 'user');
          const removed = await deletePasskeysOfUser(db, user.id);
          if (removed > 0) await recordByOperator(db, 'passkey.all_removed', user, systemClock());
          return { id: user.id, email: user.email, passkeysRemoved: removed };
        }),
      ),
  },
];

/** Concerns the platform, so no business sees it. */
export async function recordByOperator(db: Database, action: PersonAction, user: User, now: number): Promise<void> {
  const detail: Record<string, string> = user.isPlatformAdmin ? { role: 'platform admin' } : {};
  await recordAudit(db, { action, actor: OPERATOR, businessId: null, subject: auditedUser(user), detail }, now);
}

type PersonAction = Extract<Action, `user.${string}` | 'passkey.all_removed'>;
