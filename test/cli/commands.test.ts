import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatResult } from '../../src/cli/output.ts';
import { createCommandLineWithDatabase, PASSWORD_FILE } from '../support/command-line.ts';
import { REDIRECT_URI } from '../support/fixtures.ts';
import { listMigrations } from '../support/migrations.ts';

const cli = await createCommandLineWithDatabase();
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const acme = await cli.json(['business', 'add', '--name', 'Acme Ltd']);
const ada = await cli.json(
  ['user', 'add', '--email', 'Ada@Example.com', '--name', 'Ada', '--password-file', PASSWORD_FILE].concat([
    '--business',
    acme.id,
    '--role',
    'owner',
    '--platform-admin',
  ]),
);
const ledger = await cli.json(
  ['app', 'add', '--name', 'Ledger', '--redirect-uri', REDIRECT_URI, '--redirect-uri', 'http://localhost:3000/'].concat(
    ['--scope', 'read:invoices', '--scope', 'read:contacts', '--business', acme.id],
  ),
);
const onApp = (verb: string, ...more: string[]) => cli.json(['app', verb, '--app', ledger.client_id, ...more]);
const onUser = (verb: string, ...more: string[]) => cli.json(['user', verb, '--user', ada.id, ...more]);

test('business add prints the new business with its id', async () => {
  assert.match(acme.id, UUID);
  assert.equal(acme.name, 'Acme Ltd');
});

test('business list prints every business', async () => {
  const { businesses } = await cli.json(['business', 'list']);

  assert.deepEqual(businesses, [acme]);
});

test('user add prints the new user without the password', async () => {
  assert.match(ada.id, UUID);
  assert.equal(ada.email, 'ada@example.com');
  assert.equal(ada.isPlatformAdmin, true);
  assert.doesNotMatch(JSON.stringify(ada), /password|argon2/i);
});

test('user list prints every user without passwords', async () => {
  const { users } = await cli.json(['user', 'list']);

  assert.ok(users.some(({ id }: { id: string }) => id === ada.id));
  assert.doesNotMatch(JSON.stringify(users), /argon2/);
});

test('a user can be disabled and enabled again', async () => {
  const disabled = await onUser('disable');
  const enabled = await onUser('enable');

  assert.match(disabled.disabledAt, ISO_TIME);
  assert.equal(enabled.disabledAt, null);
});

test('member add, set-role and remove print the membership as it is afterwards', async () => {
  const { id } = await cli.json([
    'user',
    'add',
    '--email',
    'bob@example.com',
    '--name',
    'Bob',
    '--password-file',
    PASSWORD_FILE,
  ]);
  const both = ['--user', id, '--business', acme.id];

  const added = await cli.json(['member', 'add', ...both, '--role', 'member']);
  const changed = await cli.json(['member', 'set-role', ...both, '--role', 'admin']);
  const removed = await cli.json(['member', 'remove', ...both]);

  const { since, ...membership } = added;
  assert.deepEqual(membership, { userId: id, businessId: acme.id, businessName: 'Acme Ltd', role: 'member' });
  assert.match(since, ISO_TIME);
  assert.equal(changed.role, 'admin');
  assert.deepEqual(removed, { userId: id, businessId: acme.id, removed: true });
});

test('app add prints the client_id, the client_secret and what the app may do', async () => {
  assert.match(ledger.client_id, UUID);
  assert.match(ledger.client_secret, /^gcs_[\w-]{43}$/);
  assert.equal(ledger.ownerScope, 'business');
  assert.equal(ledger.ownerBusinessId, acme.id);
  assert.equal(ledger.openToAnyBusiness, false);
  assert.deepEqual(ledger.redirectUris, [REDIRECT_URI, 'http://localhost:3000/']);
  assert.deepEqual(ledger.allowedScopes, ['read:invoices', 'read:contacts']);
});

test('app add registers an app for any business, a platform app and one that requires PKCE', async () => {
  const add = (...more: string[]) =>
    cli.json(['app', 'add', '--name', 'X', '--redirect-uri', REDIRECT_URI, '--scope', 'read:deals', ...more]);

  const open = await add('--business', acme.id, '--any-business');
  const platform = await add('--platform', '--require-pkce');

  assert.equal(open.openToAnyBusiness, true);
  assert.equal(platform.ownerScope, 'platform');
  assert.equal(platform.ownerBusinessId, null);
  assert.equal(platform.requiresPkce, true);
});

test('app add registers a public app, which has no secret and always requires PKCE', async () => {
  const fields = ['--name', 'Desk', '--redirect-uri', 'http://127.0.0.1/callback', '--scope', 'read:deals'];
  const { client_id, client_secret, isPublic } = await cli.json([
    ...['app', 'add', ...fields, '--business', acme.id, '--public'],
  ]);
  const changed = await cli.json(['app', 'change', '--app', client_id, '--name', 'Desk 2']);

  assert.deepEqual([isPublic, client_secret], [true, undefined]);
  assert.deepEqual([changed.isPublic, changed.requiresPkce], [true, true]);
  for (const rejected of [
    ['app', 'change', '--app', client_id, '--pkce', 'no'],
    ['app', 'add-secret', '--app', client_id],
  ]) {
    assert.notEqual((await cli.run(rejected)).status, 0, rejected.join(' '));
  }
  assert.deepEqual((await cli.json(['app', 'list-secrets', '--app', client_id])).secrets, []);
});

test('app list prints the apps of a business, or those of the platform, without secrets', async () => {
  const own = await cli.json(['app', 'list', '--business', acme.id]);
  const platform = await cli.json(['app', 'list']);

  assert.ok(own.apps.some((app: { client_id: string }) => app.client_id === ledger.client_id));
  assert.ok(platform.apps.every((app: { ownerScope: string }) => app.ownerScope === 'platform'));
  assert.doesNotMatch(JSON.stringify([own, platform]), /gcs_|secret/);
});

test('an app can be paused and resumed, and enabling it does not resume it', async () => {
  assert.match((await onApp('pause')).pausedAt, ISO_TIME);
  assert.match((await onApp('enable')).pausedAt, ISO_TIME);
  assert.equal((await onApp('resume')).pausedAt, null);
});

test('an app can be disabled and enabled again', async () => {
  assert.match((await onApp('disable')).disabledAt, ISO_TIME);
  assert.equal((await onApp('enable')).disabledAt, null);
});

test('a second secret is printed once, listed by its last characters, and the first can be removed', async () => {
  const { client_secret } = await onApp('add-secret');
  const { secrets } = await onApp('list-secrets');
  const left = await onApp('remove-secret', '--secret', secrets[0].id);

  assert.match(client_secret, /^gcs_/);
  assert.deepEqual(
    secrets.map(({ hint }: { hint: string }) => hint),
    [ledger.client_secret.slice(-4), client_secret.slice(-4)],
  );
  assert.deepEqual(left.secrets, [secrets[1]]);
});

test('a deleted app is in no list', async () => {
  const { client_id } = await cli.json([
    'app',
    'add',
    '--name',
    'Gone',
    '--platform',
    '--redirect-uri',
    REDIRECT_URI,
    '--scope',
    'read:deals',
  ]);

  const deleted = await cli.json(['app', 'delete', '--app', client_id]);

  assert.equal(deleted.client_id, client_id);
  assert.doesNotMatch(JSON.stringify(await cli.json(['app', 'list'])), new RegExp(client_id));
});

test('invoice add prints the invoice as the API shows it', async () => {
  const add = (...more: string[]) =>
    cli.json(['invoice', 'add', '--business', acme.id, '--currency', 'GBP', '--customer', 'c-1', ...more]);

  const sent = await add('--number', 'INV-1', '--total', '1234.5', '--status', 'SENT');
  const draft = await add('--number', 'INV-2', '--total', '0');

  assert.match(sent.id, UUID);
  const { id, ...rest } = sent;
  assert.deepEqual(rest, { number: 'INV-1', status: 'SENT', total: '1234.50', currency: 'GBP', customerId: 'c-1' });
  assert.equal(draft.status, 'DRAFT');
  assert.equal(draft.total, '0.00');
});

test('migrate prints what it changed, and the second time nothing', async () => {
  const env = { DATABASE_URL: `sqlite:${cli.folder}/other.db` };

  const [first, second] = [await cli.json(['migrate'], { env }), await cli.json(['migrate'], { env })];

  assert.deepEqual(first, { applied: listMigrations(), waiting: [], older_nodes: [] });
  assert.deepEqual(second, { applied: [], waiting: [], older_nodes: [] });
});

test('without --json, one thing is printed in lines and a list as a table', async () => {
  const added = await cli.run(['business', 'add', '--name', 'Northgate']);
  const { status, stdout, stderr } = await cli.run(['business', 'list']);

  assert.match(added.stdout, /^id: [0-9a-f-]{36}$/m);
  assert.equal(status, 0);
  assert.equal(stderr, '');
  const [headings = '', ...rows] = stdout.trimEnd().split('\n');
  assert.deepEqual(headings.split(/ {2,}/), ['ID', 'NAME', 'REQUIRES TWO-STEP SIGN-IN', 'CREATED AT']);
  const row = rows.find((line) => line.startsWith(acme.id)) ?? '';
  assert.deepEqual(row.split(/ {2,}/), [acme.id, 'Acme Ltd', 'no', acme.createdAt]);
  assert.match(acme.createdAt, ISO_TIME);
});

test('app list without first-party apps says how to list those of a business', async () => {
  const own = await createCommandLineWithDatabase();
  const { id } = await own.json(['business', 'add', '--name', 'Acme']);

  const { stdout } = await own.run(['app', 'list']);
  const ofBusiness = await own.run(['app', 'list', '--business', id]);

  assert.equal(stdout, 'first-party apps: none; for those of a business, use --business ID\n');
  assert.equal(ofBusiness.stdout, 'apps: none\n');
  assert.deepEqual(await own.json(['app', 'list']), { apps: [] });
});

test('a name cannot control the terminal', () => {
  const apps = [{ name: 'Red\u001b[31m\n' }];

  assert.equal(formatResult({ apps }), 'NAME\nRed\ufffd[31m\ufffd');
});

test('every list is printed as a table, with the columns that fit', async () => {
  const lists = [
    ['user', 'list'],
    ['member', 'list', '--business', acme.id],
    ['app', 'list', '--business', acme.id],
    ['app', 'list-secrets', '--app', ledger.client_id],
    ['keys', 'list'],
  ];
  for (const args of lists) {
    const { stdout } = await cli.run(args, { env: { SECRET_KEYS: 'the-key-of-the-table-of-all-the-keys' } });
    assert.match(stdout, /^(?:CLIENT )?ID {2,}/m, args.join(' '));
    assert.doesNotMatch(stdout, /undefined|\[object/);
  }
  assert.equal((await cli.run(['endpoint', 'list', '--app', ledger.client_id])).stdout, 'endpoints: none\n');
});
