import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { createBrowser } from '../support/browser.ts';
import { createClient } from '../support/client.ts';
import { createCommandLine } from '../support/command-line.ts';
import { PASSWORD, REDIRECT_URI } from '../support/fixtures.ts';
import { freePort } from '../support/ports.ts';

const cli = createCommandLine();
const server = await cli.serve();
const port = await freePort();
const local = { BASE_URL: `http://127.0.0.1:${port}`, CONSENT_URL: `http://127.0.0.1:${await freePort()}` };

const REJECTED: [what: string, env: Record<string, string>, names: RegExp][] = [
  ['a public BASE_URL without SECRET_KEYS', { BASE_URL: 'https://auth.example.com' }, /SECRET_KEYS/],
  ['SECRET_KEYS that are too short', { SECRET_KEYS: 'short' }, /SECRET_KEYS/],
  ['a BASE_URL with a path', { BASE_URL: 'http://localhost:4000/auth' }, /BASE_URL/],
  ['a BASE_URL that is none', { BASE_URL: 'nonsense' }, /BASE_URL/],
  ['a public CONSENT_URL without https', { CONSENT_URL: 'http://login.example.com' }, /CONSENT_URL/],
  ['a LISTEN that is none', { LISTEN: 'everywhere' }, /LISTEN/],
  ['a CONSENT_LISTEN out of range', { CONSENT_LISTEN: '127.0.0.1:70000' }, /CONSENT_LISTEN/],
  ['REFRESH_RETRY_SECONDS out of range', { REFRESH_RETRY_SECONDS: '301' }, /REFRESH_RETRY_SECONDS/],
  [
    'a TRUST_PROXY that is no address',
    { TRUST_PROXY: 'the proxy' },
    /^TRUST_PROXY must list addresses, like .*: invalid IP address/,
  ],
  ['a LOG_LEVEL that is none', { LOG_LEVEL: 'loud' }, /LOG_LEVEL/],
  ['a limit of nothing', { LIMIT_PER_APP: '0' }, /LIMIT_PER_APP/],
];

/** These settings fail after the server has begun to start, so they run in a new process. */
const REJECTED_AT_START: typeof REJECTED = [
  ['a LISTEN on an address of another machine', { LISTEN: '192.0.2.1:4000' }, /LISTEN/],
  ['a DATABASE_URL that cannot be opened', { DATABASE_URL: 'sqlite:/' }, /DATABASE_URL/],
];

for (const [what, env, names] of [...REJECTED, ...REJECTED_AT_START]) {
  test(`serve rejects ${what} with one sentence that names the setting, and exit 1`, async () => {
    const { status, stdout, stderr } = await cli.run(['serve'], {
      env: { ...local, ...env },
      asProcess: REJECTED_AT_START.some(([each]) => each === what),
    });

    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.match(stderr, names);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  });
}

for (const workers of ['0', '65', '1.5']) {
  test(`serve rejects --workers=${workers} with one sentence, and exit 1`, async () => {
    const { status, stdout, stderr } = await cli.run(['serve', `--workers=${workers}`], { asProcess: false });

    assert.deepEqual([status, stdout], [1, '']);
    assert.equal(stderr, '--workers: Use a whole number from 1 to 64, or auto.\n');
  });
}

test('serve rejects a port that is in use with one sentence that names the setting, and exit 1', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const address = taken.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;

  const forApi = await cli.run(['serve'], { env: { ...local, BASE_URL: url } });
  const forWeb = await cli.run(['serve'], { env: { ...local, CONSENT_URL: url } });
  const behindProxy = {
    BASE_URL: 'https://api.example.com',
    CONSENT_URL: 'https://accounts.example.com',
    SECRET_KEYS: 'Uo7fTCf8yvAZb1z0fXq4lLUgnWzWnaYy5vSSO2fB1cE=',
    LISTEN: url.slice('http://'.length),
    CONSENT_LISTEN: local.CONSENT_URL.slice('http://'.length),
  };
  const fresh = createCommandLine();
  const forPublicApi = await fresh.run(['serve'], { env: behindProxy });
  const forPublicWeb = await fresh.run(['serve'], {
    env: { ...behindProxy, LISTEN: behindProxy.CONSENT_LISTEN, CONSENT_LISTEN: behindProxy.LISTEN },
  });
  taken.close();

  assert.equal(forApi.status, 1);
  assert.match(
    forApi.stderr,
    /^Cannot listen on .*: in use by another program \(EADDRINUSE\)\. Set BASE_URL or LISTEN to another address\.\n$/,
  );
  assert.equal(forWeb.status, 1);
  assert.match(forWeb.stderr, /^Cannot listen on .*EADDRINUSE.* Set CONSENT_URL or CONSENT_LISTEN .*\.\n$/);
  assert.match(forPublicApi.stderr, /\(EADDRINUSE\)\. Set LISTEN to another address\.\n$/);
  assert.match(forPublicWeb.stderr, /\(EADDRINUSE\)\. Set CONSENT_LISTEN to another address\.\n$/);
});

test('serve warns of a variable that resembles a setting, without its value', async () => {
  const { stderr } = await cli.run(['serve'], { env: { BASE_URI: 'https://secret.example', SECRET_KEYS: 'short' } });

  assert.match(stderr, /^Warning: BASE_URI is not a setting\. Did you mean BASE_URL\?\n/);
  assert.equal(stderr.includes('secret.example'), false);
});

test('serve adds nothing to a new database, creates a key that only its owner can read, and stops on a signal', async () => {
  const fresh = createCommandLine();
  const started = await fresh.serve();

  const { users } = await fresh.json(['user', 'list']);
  const { businesses } = await fresh.json(['business', 'list']);
  const ready = await fetch(`${started.api}/readyz`);
  const ended = await started.end('SIGTERM');

  assert.deepEqual([users, businesses], [[], []]);
  assert.equal(ready.status, 200);
  assert.equal(ended, 0);
  const key = join(fresh.folder, 'data', 'secret-key');
  assert.ok(existsSync(key));
  assert.equal(statSync(key).mode & 0o777, 0o600);
});

test('the command line works on the database of a running server, with effect at once', async () => {
  const business = await cli.json(['business', 'add', '--name', 'Acme']);
  const user = await cli.json(
    ['user', 'add', '--email', 'ada@example.com', '--name', 'Ada', '--business', business.id],
    {
      input: `${PASSWORD}\n`,
    },
  );
  const app = await cli.json(
    ['app', 'add', '--name', 'Ledger', '--redirect-uri', REDIRECT_URI, '--scope', 'read:invoices'].concat([
      '--business',
      business.id,
    ]),
  );
  const invoice = ['--business', business.id, '--number', 'INV-1', '--total', '9.99', '--currency', 'GBP'];
  await cli.json(['invoice', 'add', ...invoice, '--customer', 'c-1']);
  const client = createClient({
    api: server.api,
    browse: () => createBrowser(server.web, [server.api, server.web]),
    user,
    app: { ...app, id: app.client_id, secret: app.client_secret },
    business,
  });
  const { access_token } = await client.connect();

  const listed = await client.listInvoices(access_token);
  await cli.json(['user', 'disable', '--user', user.id]);
  const disabled = await client.listInvoices(access_token);
  await cli.json(['user', 'enable', '--user', user.id]);
  const enabled = await client.listInvoices(access_token);
  await cli.json(['member', 'remove', '--user', user.id, '--business', business.id]);
  const removed = await client.listInvoices(access_token);

  assert.equal(listed.body[0].total, '9.99');
  assert.deepEqual(
    [listed, disabled, enabled, removed].map(({ status }) => status),
    [200, 401, 200, 401],
  );
});

test('a password set on standard input replaces the old one and ends every session', async () => {
  const email = 'bob@example.com';
  const { id } = await cli.json(['user', 'add', '--email', email, '--name', 'Bob'], { input: PASSWORD });
  const browse = () => createBrowser(server.web, [server.api, server.web]);
  const before = browse();
  await before.signIn(email, PASSWORD);

  await cli.json(['user', 'set-password', '--user', id], { input: 'a new password: with “quotes” \r\n' });
  const session = await before.open('/settings/account');
  const old = await browse().signIn(email, PASSWORD);
  const fresh = await browse().signIn(email, 'a new password: with “quotes” ');

  assert.match(session.url, /\/sign-in\?/);
  assert.equal(old.status, 401);
  assert.equal(fresh.status, 200);
});
