import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCommandLineWithDatabase, PASSWORD_FILE } from '../support/command-line.ts';

const cli = await createCommandLineWithDatabase();
const acme = await cli.json(['business', 'add', '--name', 'Acme']);
const bolt = await cli.json(['business', 'add', '--name', 'Bolt']);
const typed = ['--email', 'ada@example.com', '--name', 'Ada', '--password-file', PASSWORD_FILE];
const ada = await cli.json(['user', 'add', ...typed, '--business', acme.id, '--role', 'owner']);
const invite = (...more: string[]) => ['member', 'invite', '--by', ada.id, '--role', 'admin', ...more];

test('member list prints the members of one business only', async () => {
  const { members } = await cli.json(['member', 'list', '--business', acme.id]);
  const others = await cli.json(['member', 'list', '--business', bolt.id]);

  const [{ since, ...member }] = members;
  assert.deepEqual(member, {
    id: ada.id,
    name: 'Ada',
    email: 'ada@example.com',
    emailVerifiedAt: ada.createdAt,
    role: 'owner',
    disabledAt: null,
  });
  assert.ok(Date.parse(since) > 0);
  assert.deepEqual([members.length, others.members], [1, []]);
});

test('member invite prints a link in the name of an owner, below CONSENT_URL', async () => {
  const env = { CONSENT_URL: 'https://pages.example', BASE_URL: 'https://api.example' };
  const invitation = await cli.json(invite('--business', acme.id, '--email', 'Bob@Example.com'), { env });
  const foreign = await cli.run(invite('--business', bolt.id, '--email', 'bob@example.com'));

  assert.match(invitation.link, /^https:\/\/pages\.example\/invitation\/[\w-]{43}$/);
  assert.deepEqual([invitation.role, invitation.email, invitation.inviterName], ['admin', 'bob@example.com', 'Ada']);
  assert.equal(foreign.status, 1);
  assert.equal(foreign.stderr, '--by: There is no such owner of this business who can sign in.\n');
});

test('user password-link prints a link below CONSENT_URL, and when it expires', async () => {
  const env = { CONSENT_URL: 'https://pages.example', BASE_URL: 'https://api.example' };
  const own = await createCommandLineWithDatabase();
  const typed = ['--email', 'kim@example.com', '--name', 'Kim', '--password-file', PASSWORD_FILE];
  const { id } = await own.json(['user', 'add', ...typed]);

  const made = await own.json(['user', 'password-link', '--user', id], { env });
  const unknown = await own.run(['user', 'password-link', '--user', acme.id], { env });

  assert.match(made.link, /^https:\/\/pages\.example\/password\/[\w-]{43}$/);
  assert.equal(made.email, 'kim@example.com');
  const hours = (Date.parse(made.expiresAt) - Date.now()) / 3_600_000;
  assert.ok(hours > 23 && hours <= 24, String(hours));
  assert.deepEqual([unknown.status, unknown.stderr], [1, '--user: There is no such user.\n']);
});

test('every command that takes a user accepts an email address, in any case', async () => {
  const own = await createCommandLineWithDatabase();
  const { id: business } = await own.json(['business', 'add', '--name', 'Acme']);
  const { id } = await own.json(['user', 'add', ...typed]);
  const user = ['--user', 'Ada@Example.com'];

  for (const verb of ['disable', 'enable', 'verify-email', 'remove-passkeys', 'remove-second-factor']) {
    assert.equal((await own.json(['user', verb, ...user])).id, id, verb);
  }
  assert.equal((await own.json(['user', 'set-password', ...user, '--password-file', PASSWORD_FILE])).id, id);
  assert.equal((await own.json(['user', 'password-link', ...user])).email, 'ada@example.com');
  assert.equal((await own.json(['member', 'add', ...user, '--business', business, '--role', 'admin'])).userId, id);
  assert.equal((await own.json(['member', 'set-role', ...user, '--business', business, '--role', 'owner'])).userId, id);
  const invited = ['--business', business, '--role', 'member', '--email', 'kim@example.com'];
  assert.equal((await own.json(['member', 'invite', ...invited, '--by', 'ada@example.com'])).inviterName, 'Ada');
  const unknown = await own.run(['user', 'disable', '--user', 'nobody@example.com']);
  assert.equal(unknown.stderr, '--user: There is no such user.\n');
});

test('audit export writes the same log as the pages, for everything or one business, and continues after an entry', async () => {
  const all = await cli.run(['audit', 'export'], { asProcess: true });
  const ofAcme = await cli.json(['audit', 'export', '--business', acme.id]);
  const [head = '', newest = '', ...older] = all.stdout.trimEnd().split('\r\n');
  const rest = await cli.run(['audit', 'export', '--before', newest.slice(1, 37)], { asProcess: true });

  assert.match(head, /^"id","time","action","what","actor_kind","actor_id","actor","actor_email"/);
  assert.match(
    newest,
    /"member.invited".*"operator","","Operator".*"bob@example.com".*"Role: admin; in the name of: Ada"/,
  );
  assert.deepEqual(
    ofAcme.entries.map(({ action }: { action: string }) => action),
    ['member.invited', 'member.added', 'business.added'],
  );
  assert.equal(rest.stdout, [head, ...older, ''].join('\r\n'));
  assert.equal(older.length, 4);
});

test('audit export rejects an unknown business or entry', async () => {
  for (const [option, sentence] of [
    ['business', '--business: There is no such business.\n'],
    ['before', '--before: Use the id of an entry, as in the exported file.\n'],
  ]) {
    const { status, stdout, stderr } = await cli.run(['audit', 'export', `--${option}`, 'none']);
    assert.deepEqual([status, stdout, stderr], [1, '', sentence]);
  }
});
