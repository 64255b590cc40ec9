import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { findBusiness } from '../accounts/businesses.ts';
import { addUser } from '../accounts/joining.ts';
import { ROLES } from '../accounts/memberships.ts';
import { removeAllPasskeys } from '../accounts/passkeys.ts';
import { createPasswordLink } from '../accounts/password-links.ts';
import { resetSecondFactor } from '../accounts/second-factors.ts';
import { listUsers } from '../accounts/user-lists.ts';
import { findUser, type User, verifyEmail } from '../accounts/users.ts';
import { OPERATOR } from '../audit/entries.ts';
import { readConsentUrl } from '../config/settings.ts';
import { setPassword } from '../grants/account-reset.ts';
import { disableUser, enableUser } from '../grants/suspension.ts';
import { endConnectionsOfUser } from '../grants/user-connections.ts';
import { systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import type { Database } from '../storage/storage.ts';
import { type Command, type Options, required, UsageError, withStorage } from './command.ts';
import { requireUser, USER } from './user-option.ts';

const PASSWORD_FILE = {
  value: 'FILE',
  help: 'Read the password from this file, or from standard input if it is - (default: you are asked for it)',
};

export const userCommands: Command[] = [
  {
    name: 'user add',
    summary: 'Add a user who can sign in',
    options: {
      email: { value: 'EMAIL', help: 'The address that they sign in with', required: true },
      name: { value: 'NAME', help: 'The name that others see', required: true, example: 'Ada' },
      'password-file': PASSWORD_FILE,
      business: { value: 'ID', help: 'Make them a member of this business' },
      role: { value: 'ROLE', help: 'owner, admin or member (default: member)', choices: ROLES },
      'platform-admin': { help: 'Allow them to see and stop every app and user, and to register first-party apps' },
    },
    examples: [
      '--platform-admin',
      'gatehouse user add --email ada@example.com --name Ada --password-file - < password.txt',
    ],
    async run(options, env) {
      const businessId = options.text('business');
      if (options.text('role') && !businessId) throw new UsageError('--role requires --business.');
      const user = {
        email: options.text('email'),
        name: options.text('name'),
        password: await readPassword(options.text('password-file')),
        isPlatformAdmin: options.flag('platform-admin'),
        membership: businessId ? { businessId, role: options.text('role') || 'member' } : undefined,
      };
      return withStorage(env, async ({ durable }) => {
        if (businessId) required(await findBusiness(durable, businessId), 'business', 'business');
        return addUser(OPERATOR, durable, user, systemClock());
      });
    },
  },
  {
    name: 'user list',
    summary: 'List all users',
    options: {},
    columns: ['id', 'name', 'email', 'isPlatformAdmin', 'lastSignedInAt', 'disabledAt'],
    examples: ['--json'],
    run: (_, env) => withStorage(env, async ({ durable }) => ({ users: await listUsers(durable) })),
  },
  {
    name: 'user disable',
    summary: 'Sign a user out and stop the apps that they connected, until the user is enabled again',
    options: { user: USER },
    run: (options, env) => changeUser(options, env, (db, user, now) => disableUser(OPERATOR, db, { user }, now)),
  },
  {
    name: 'user enable',
    summary: 'Allow a disabled user to sign in again',
    options: { user: USER },
    run: (options, env) => changeUser(options, env, (db, user, now) => enableUser(OPERATOR, db, user, now)),
  },
  {
    name: 'user end-connections',
    summary: 'End the access of every app that a user has connected, in every business; it cannot be undone',
    options: { user: USER },
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const user = await requireUser(durable, options);
        const ended_connections = await endConnectionsOfUser(OPERATOR, durable, user, systemClock());
        return { id: user.id, email: user.email, ended_connections };
      }),
  },
  {
    name: 'user set-password',
    summary: 'Set the password of a user, sign them out everywhere and remove their passkeys and second factor',
    options: {
      user: USER,
      'password-file': PASSWORD_FILE,
      'end-grants': { help: 'End the access of every app that they connected' },
    },
    examples: ['--password-file password.txt', '--end-grants'],
    async run(options, env) {
      const password = await readPassword(options.text('password-file'));
      const endsGrants = options.flag('end-grants');
      return withStorage(env, async ({ durable }) => {
        const user = await requireUser(durable, options);
        await setPassword(OPERATOR, durable, { user, password, endsGrants }, systemClock());
        return { ...user, grantsEnded: endsGrants };
      });
    },
  },
  {
    name: 'user password-link',
    summary: 'Create a link with which a user sets a new password, once, within 24 hours; it is printed only once',
    options: { user: USER },
    run: (options, env) => {
      const consentUrl = readConsentUrl(env);
      return withStorage(env, async ({ durable }) => {
        const { id, email } = await requireUser(durable, options);
        const link = { userId: id, businessId: null };
        const created = required(await createPasswordLink(OPERATOR, durable, link, systemClock()), 'user', 'user');
        return { email, expiresAt: created.expiresAt, link: `${consentUrl}/password/${created.token}` };
      });
    },
  },
  {
    name: 'user verify-email',
    summary: 'Confirm that an email address belongs to its user, who can then join other businesses',
    options: { user: USER },
    run: (options, env) => changeUser(options, env, (db, user, now) => verifyEmail(OPERATOR, db, { user }, now)),
  },
  {
    name: 'user remove-passkeys',
    summary: 'Remove all passkeys of a user',
    options: { user: USER },
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const user = await requireUser(durable, options);
        const passkeysRemoved = await removeAllPasskeys(OPERATOR, durable, user, systemClock());
        return { id: user.id, email: user.email, passkeysRemoved };
      }),
  },
  {
    name: 'user remove-second-factor',
    summary: 'Remove the authenticator app and the recovery codes of a user, who then signs in without them',
    options: { user: USER },
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const user = await requireUser(durable, options);
        return {
          id: user.id,
          email: user.email,
          removed: await resetSecondFactor(OPERATOR, durable, user, systemClock()),
        };
      }),
  },
];

/** Changes a user, and returns them as they are then. */
function changeUser(
  options: Options,
  env: NodeJS.ProcessEnv,
  change: (db: Database, user: User, now: number) => Promise<unknown>,
): Promise<User | undefined> {
  return withStorage(env, async ({ durable }) => {
    const user = await requireUser(durable, options);
    await change(durable, user, systemClock());
    return findUser(durable, user.id);
  });
}

/** Unlike an argument, a file or a pipe is not visible to other processes. */
async function readPassword(file: string): Promise<string> {
  if (file === '' || file === '-') {
    const password = await (process.stdin.isTTY ? askPassword() : readPipe());
    if (password !== '') return password;
    if (process.stdin.isTTY || file === '-') throw new UsageError('Standard input has no password.');
    throw new UsageError('There is no terminal to ask for the password: use --password-file.');
  }
  const text = await readFile(file, 'utf8').catch(() => {
    throw new FormError('password-file', `${file} cannot be read.`);
  });
  return text.replace(/\r?\n$/, '');
}

async function readPipe(): Promise<string> {
  return (await readAll(process.stdin)).replace(/\r?\n$/, '');
}

/** Reads from a terminal without echo. */
async function askPassword(): Promise<string> {
  process.stderr.write('Password: ');
  process.stdin.setRawMode(true);
  try {
    return await readLine();
  } finally {
    process.stdin.setRawMode(false);
    process.stdin.pause();
    process.stderr.write('\n');
  }
}

async function readLine(): Promise<string> {
  let line = '';
  for await (const chunk of process.stdin.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    for (const character of chunk as string) {
      if (character === '\r' || character === '\n' || character === '\u0004') return line;
      if (character === '\u0003') process.exit(130);
      line = character === '\u007f' ? line.slice(0, -1) : line + character;
    }
  }
  return line;
}
