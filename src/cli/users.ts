import { findBusiness } from '../accounts/businesses.ts';
import { addMember } from '../accounts/memberships.ts';
import { endAllSessions } from '../accounts/sessions.ts';
import { addUser, enableUser, findUser, hashNewPassword, listUsers, setPasswordHash } from '../accounts/users.ts';
import { systemClock } from '../lib/clock.ts';
import { pauseUser } from '../oauth/pauses.ts';
import { type Command, required, UsageError, withStorage } from './command.ts';
import { askPassword } from './password-prompt.ts';

const USER = { value: 'ID', help: 'The user’s id', required: true };
const PASSWORD = { value: 'PASSWORD', help: 'At least 8 characters; left out, it is asked for' };

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
      'platform-admin': { help: 'Let them register first-party apps' },
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
        storage.atomically(async (db) => {
          if (businessId) required(await findBusiness(db, businessId), 'business', 'business');
          const added = await addUser(db, user, systemClock());
          if (businessId) await addMember(db, { userId: added.id, businessId, role }, systemClock());
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
        storage.atomically(async (db) => {
          const user = required(await findUser(db, options.text('user')), 'user', 'user');
          await pauseUser(db, user, systemClock());
          await endAllSessions(db, user.id);
          return findUser(db, user.id);
        }),
      ),
  },
  {
    name: 'user enable',
    summary: 'Let a disabled user in again',
    options: { user: USER },
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const user = required(await findUser(durable, options.text('user')), 'user', 'user');
        await enableUser(durable, user.id);
        return findUser(durable, user.id);
      }),
  },
  {
    name: 'user set-password',
    summary: 'Set a user’s password and end their sessions',
    options: { user: USER, password: PASSWORD },
    async run(options, env) {
      const password = options.text('password') || (await askPassword());
      return withStorage(env, async (storage) => {
        const user = required(await findUser(storage.durable, options.text('user')), 'user', 'user');
        const hash = await hashNewPassword(user, password);
        await storage.atomically(async (db) => {
          await setPasswordHash(db, user.id, hash);
          await endAllSessions(db, user.id);
        });
        return user;
      });
    },
  },
];
