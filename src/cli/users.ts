import { findBusiness } from '../accounts/businesses.ts';
import { addUser, findUser, listUsers, markUserEnabled } from '../accounts/users.ts';
import { disableUserAndTell } from '../grants/suspension.ts';
import { systemClock } from '../lib/clock.ts';
import { type Command, required, UsageError, withStorage } from './command.ts';
import { addMemberAsOperator } from './members.ts';
import { askPassword } from './password-prompt.ts';
import { PASSWORD, recordByOperator, recoveryCommands, USER } from './recovery.ts';

export const userCommands: Command[] = [
  {
    name: 'user add',
    summary: 'Add someone who can sign in',
    options: {
      email: { value: 'EMAIL', help: 'What they sign in with', required: true },
      name: { value: 'NAME', help: 'What people call them', required: true },
      password: PASSWORD,
      business: { value: 'ID', help: 'Make them a member of this business' },
      role: { value: 'ROLE', help: 'owner, admin or member (member if left out)' },
      'platform-admin': { help: 'Let them see and stop every app and user, and register first-party apps' },
    },
    async run(options, env) {
      const user = {
        email: options.text('email'),
        name: options.text('name'),
        password: options.text('password') || (await askPassword()),
        isPlatformAdmin: options.flag('platform-admin'),
      };
      const businessId = options.text('business');
      const role = options.text('role') || 'member';
      if (options.text('role') && !businessId) throw new UsageError('--role goes with --business.');
      return withStorage(env, (storage) =>
        storage.transaction(async (db) => {
          if (businessId) required(await findBusiness(db, businessId), 'business', 'business');
          const now = systemClock();
          const added = await addUser(db, user, now);
          await recordByOperator(db, 'user.added', added, now);
          if (businessId) await addMemberAsOperator(db, { user: added, businessId, role }, now);
          return added;
        }),
      );
    },
  },
  {
    name: 'user list',
    summary: 'List all users',
    options: {},
    run: (_, env) => withStorage(env, async ({ durable }) => ({ users: await listUsers(durable) })),
  },
  {
    name: 'user disable',
    summary: 'Stop a user’s sessions and everything they allowed, until enabled again',
    options: { user: USER },
    run: (options, env) =>
      withStorage(env, (storage) =>
        storage.transaction(async (db) => {
          const user = required(await findUser(db, options.text('user')), 'user', 'user');
          const now = systemClock();
          if (await disableUserAndTell(db, user, now)) await recordByOperator(db, 'user.disabled', user, now);
          return findUser(db, user.id);
        }),
      ),
  },
  {
    name: 'user enable',
    summary: 'Let a disabled user in again',
    options: { user: USER },
    run: (options, env) =>
      withStorage(env, ({ transaction }) =>
        transaction(async (db) => {
          const user = required(await findUser(db, options.text('user')), 'user', 'user');
          if (await markUserEnabled(db, user.id)) await recordByOperator(db, 'user.enabled', user, systemClock());
          return findUser(db, user.id);
        }),
      ),
  },
  ...recoveryCommands,
];
