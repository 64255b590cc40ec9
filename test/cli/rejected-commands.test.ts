import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import {
  type CommandResult,
  createCommandLine,
  createCommandLineWithDatabase,
  PASSWORD_FILE,
  writePassword,
} from '../support/command-line.ts';
import { commandsOnDatabase } from '../support/every-command.ts';
import { REDIRECT_URI } from '../support/fixtures.ts';

const cli = await createCommandLineWithDatabase();
const UNKNOWN_ID = '01a1dd0a-eb11-7000-997c-587fb8fee946';
const { id: acme } = await cli.json(['business', 'add', '--name', 'Acme']);
const { id: ada } = await cli.json([
  'user',
  'add',
  '--email',
  'a@b.c',
  '--name',
  'Ada',
  '--password-file',
  PASSWORD_FILE,
]);

/** Asserts exit 1, and one sentence on one line that names what to change, without a stack trace. */
function assertRejected({ status, stdout, stderr }: CommandResult, sentence: RegExp): void {
  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.match(stderr, sentence);
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  assert.doesNotMatch(stderr, /^\s+at /m);
}

const USER = ['user', 'add', '--email', 'x@y.z', '--name', 'X'];
const APP = ['app', 'add', '--name', 'X', '--redirect-uri', REDIRECT_URI];
const INVOICE = ['invoice', 'add', '--business', acme, '--number', 'I-1', '--customer', 'c', '--currency', 'GBP'];

const REJECTED: [what: string, args: string[], sentence: RegExp][] = [
  ['a missing option', ['business', 'add'], /^--name is missing\./],
  ['an unknown option', ['business', 'add', '--name', 'X', '--colour', 'red'], /--colour/],
  [
    'an option of one value that is given twice',
    ['business', 'add', '--name', 'X', '--name', 'Y'],
    /^--name may be given once\. See: /,
  ],
  ['an option without its value', ['business', 'add', '--name'], /--name/],
  ['a value that looks like an option', ['business', 'add', '--name', '-x'], /--name/],
  ['an empty name', ['business', 'add', '--name', ' '], /^--name: Enter a name\./],
  [
    'a password that is too short',
    [...USER, '--password-file', writePassword('short')],
    /^--password-file: Use at least 8/,
  ],
  [
    'a password that everybody uses',
    [...USER, '--password-file', writePassword('password123')],
    /^--password-file: .*attackers try first/,
  ],
  [
    'an email that is none',
    ['user', 'add', '--email', 'x', '--name', 'X', '--password-file', PASSWORD_FILE],
    /^--email: Enter/,
  ],
  [
    'an email that is taken',
    ['user', 'add', '--email', 'A@B.C', '--name', 'X', '--password-file', PASSWORD_FILE],
    /^--email: .*already/,
  ],
  [
    'an unknown business',
    [...USER, '--password-file', PASSWORD_FILE, '--business', UNKNOWN_ID],
    /^--business: There is no such business/,
  ],
  [
    'an unknown role',
    [...USER, '--password-file', PASSWORD_FILE, '--business', acme, '--role', 'king'],
    /^--role: .*owner, admin, member/,
  ],
  [
    'a role without a business',
    ['user', 'add', '--email', 'r@y.z', '--name', 'X', '--password-file', PASSWORD_FILE, '--role', 'owner'],
    /--business/,
  ],
  ['an unknown user', ['user', 'disable', '--user', UNKNOWN_ID], /^--user: There is no such user/],
  [
    'a user id that is none',
    ['user', 'set-password', '--user', 'x', '--password-file', PASSWORD_FILE],
    /^--user: There is no such user/,
  ],
  [
    'a member who is none',
    ['member', 'set-role', '--user', ada, '--business', acme, '--role', 'admin'],
    /^--user: .*no such member/,
  ],
  ['an app without an owner', [...APP, '--scope', 'read:deals'], /--business ID or --platform/],
  [
    'an app of two owners',
    [...APP, '--scope', 'read:deals', '--platform', '--business', acme],
    /--business ID or --platform/,
  ],
  [
    'a platform app for any business',
    [...APP, '--scope', 'read:deals', '--platform', '--any-business'],
    /--any-business/,
  ],
  ['an unknown scope', [...APP, '--scope', 'read:all', '--platform'], /^--scope: Unknown scope: read:all\./],
  ['an empty scope', [...APP, '--scope', '', '--platform'], /^--scope: /],
  [
    'an unsafe redirect URI',
    ['app', 'add', '--name', 'X', '--platform', '--scope', 'read:deals', '--redirect-uri', 'http://x.example/'],
    /^--redirect-uri: .*use https/,
  ],
  ['an unknown app', ['app', 'disable', '--app', UNKNOWN_ID], /^--app: There is no such app/],
  ['a total that is no amount', [...INVOICE, '--total', '1.234'], /^--total: /],
  [
    'a currency that is none',
    ['invoice', 'add', '--business', acme, '--number', 'I', '--customer', 'c', '--total', '1', '--currency', 'pounds'],
    /^--currency: /,
  ],
  ['a status that is none', [...INVOICE, '--total', '1', '--status', 'LOST'], /^--status: /],
  [
    'an invoice of an unknown business',
    ['invoice', 'add', '--business', UNKNOWN_ID, ...INVOICE.slice(4), '--total', '1'],
    /^--business: /,
  ],
];

for (const [what, args, sentence] of REJECTED) {
  test(`${what} is rejected with one sentence that names the option, and exit 1`, async () => {
    assertRejected(await cli.run(args), sentence);
  });
}

test('a missing database is rejected by every command that does not create one, and nothing is created', async () => {
  const env = { DATABASE_URL: 'sqlite:deep/typo.db' };
  const fresh = createCommandLine();
  const commands = await commandsOnDatabase();
  assert.ok(commands.length > 50);

  for (const args of commands) {
    assertRejected(await fresh.run(args, { env }), /^DATABASE_URL points at deep\/typo\.db, .* gatehouse migrate$/m);
  }

  assert.deepEqual(readdirSync(fresh.folder), []);
});

test('a file without tables is rejected by the same commands, and no table is created', async () => {
  const fresh = createCommandLine();
  const file = join(fresh.folder, 'empty.db');
  const database = new DatabaseSync(file);
  database.exec('create table notes (text)');
  const env = { DATABASE_URL: `sqlite:${file}` };

  for (const args of (await commandsOnDatabase()).filter(([name]) => name !== 'backup')) {
    assertRejected(await fresh.run(args, { env }), /has no tables\. To create them, run: gatehouse migrate$/m);
  }

  assert.deepEqual(database.prepare('select name from sqlite_schema').all().length, 1);
  database.close();
});

test('a rejected command exits with 1, and prints its message on standard error', async () => {
  assertRejected(await cli.run(['business', 'add']), /^--name is missing\. .*\n$/);
});

test('a rejected user leaves nothing behind: neither the user nor the membership', async () => {
  await cli.run([...USER, '--password-file', PASSWORD_FILE, '--business', acme, '--role', 'king']);

  const { users } = await cli.json(['user', 'list']);
  assert.ok(!users.some(({ email }: { email: string }) => email === 'x@y.z'));
});

const UNKNOWN: [args: string[], sentence: string][] = [
  [['servee'], "There is no command 'servee'. Did you mean serve? See: gatehouse --help"],
  [['nonsense'], "There is no command 'nonsense'. See: gatehouse --help"],
  [
    ['bussiness', 'add', '--name', 'X'],
    "There is no command 'bussiness add'. Did you mean business add? See: gatehouse --help",
  ],
  [
    ['business', 'ad', '--name', 'X'],
    "There is no command 'business ad'. Did you mean business add? See: gatehouse business --help",
  ],
  [['business', 'sell', 'Acme'], "There is no command 'business sell'. See: gatehouse business --help"],
  [['--business', 'x'], 'The name of a command comes first. See: gatehouse --help'],
];

test('an unknown command is named in one sentence, which says where the commands are listed', async () => {
  for (const [args, sentence] of UNKNOWN) {
    assert.deepEqual(await cli.run(args), { status: 1, stdout: '', stderr: `${sentence}\n` });
  }
});

test('a noun without a subcommand is rejected, and its subcommands are named', async () => {
  const sentence = 'business needs a subcommand: add, list or change. See: gatehouse business --help';

  for (const args of [['business'], ['business', '--name', 'X']]) {
    assert.deepEqual(await cli.run(args), { status: 1, stdout: '', stderr: `${sentence}\n` });
  }
  assert.match((await cli.run(['clock'])).stderr, /^clock needs a subcommand: confirm\. /);
});

test('an argument that a command does not take is named', async () => {
  assertRejected(
    await cli.run(['business', 'add', 'extra', '--name', 'X']),
    /^Unexpected argument 'extra'\. See: gatehouse business add --help$/m,
  );
  assertRejected(await cli.run(['serve', 'now'], { asProcess: false }), /^Unexpected argument 'now'\. /);
});

test('with --json, an error is one JSON object', async () => {
  for (const [args, error] of [
    [['business', 'add'], '--name is missing. See: gatehouse business add --help'],
    [['business', 'add', '--name', ' '], '--name: Enter a name.'],
    [
      ['business', 'ad'],
      "There is no command 'business ad'. Did you mean business add? See: gatehouse business --help",
    ],
  ] as const) {
    const { status, stdout, stderr } = await cli.run([...args, '--json']);
    assert.deepEqual([status, stdout, JSON.parse(stderr)], [1, '', { error }]);
  }
});

test('a command without a result rejects --json', async () => {
  for (const args of [['serve'], ['demo'], ['listen']]) {
    const { status, stderr } = await cli.run([...args, '--json'], { asProcess: false });
    const error = `Unknown option '--json'. See: gatehouse ${args[0]} --help`;
    assert.deepEqual([status, JSON.parse(stderr)], [1, { error }]);
  }
  const { stderr } = await cli.run(['export', '--business', acme, '--kind', 'contacts', '--json']);
  assert.match(stderr, /"--json goes with --output\. /);
});

const UNCHANGED: [args: string[], options: string][] = [
  [['business', 'change', '--business', UNKNOWN_ID], '--name or --require-second-factor'],
  [['app', 'change', '--app', UNKNOWN_ID], '--name, --redirect-uri, --scope, --open or --pkce'],
  [['app', 'identity', '--app', UNKNOWN_ID], '--publisher, --homepage, --support, --privacy, --terms or --logo'],
  [['endpoint', 'change', '--app', UNKNOWN_ID, '--endpoint', UNKNOWN_ID], '--url or --event'],
];

test('a command that is asked to change nothing says so, and exits with 1', async () => {
  for (const [args, options] of UNCHANGED) {
    const { status, stderr } = await cli.run(args);
    assert.equal(status, 1);
    assert.ok(stderr.startsWith(`There is nothing to change. Give ${options}. See: gatehouse ${args[0]} `), stderr);
  }
});

test('without a terminal and a password on standard input, --password-file is asked for', async () => {
  const sentence = /^There is no terminal to ask for the password: use --password-file\. See: /;
  for (const input of ['', '\n', '\r\n']) assertRejected(await cli.run(USER, { input }), sentence);

  assertRejected(
    await cli.run([...USER, '--password-file', '-'], { input: '\n' }),
    /^Standard input has no password\. See: /,
  );
});

const foreign = new DatabaseSync(join(cli.folder, 'foreign.db'));
foreign.exec('create table users (id integer)');
foreign.close();
mkdirSync(join(cli.folder, 'folder'));
writeFileSync(join(cli.folder, 'garbage.db'), 'this is not a database, however long one looks at it. '.repeat(100));

const DATABASES: [what: string, url: string][] = [
  ['a folder', `sqlite:${join(cli.folder, 'folder')}`],
  ['a file of something else', `sqlite:${join(cli.folder, 'garbage.db')}`],
  ['a database of another program', `sqlite:${join(cli.folder, 'foreign.db')}`],
  ['a path below a file', `sqlite:${join(cli.folder, 'garbage.db', 'x.db')}`],
  ['an unknown engine', 'mysql://localhost/gatehouse'],
  ['no address at all', 'gatehouse.db'],
];

for (const [what, DATABASE_URL] of DATABASES) {
  test(`a DATABASE_URL that points at ${what} is rejected with one sentence that names it`, async () => {
    assertRejected(await cli.run(['business', 'list'], { env: { DATABASE_URL } }), /DATABASE_URL/);
  });
}

test('a file of another kind is not changed', async () => {
  const before = readFileSync(join(cli.folder, 'garbage.db'));

  await cli.run(['migrate'], { env: { DATABASE_URL: `sqlite:${join(cli.folder, 'garbage.db')}` } });

  assert.ok(readFileSync(join(cli.folder, 'garbage.db')).equals(before));
});
