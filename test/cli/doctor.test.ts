import assert from 'node:assert/strict';
import { chmodSync, closeSync, existsSync, openSync, readdirSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { requestFollowUp } from '../../src/grants/follow-ups.ts';
import { HOUR } from '../../src/lib/clock.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { openStorage } from '../../src/storage/open.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import { createCommandLine, createCommandLineWithDatabase } from '../support/command-line.ts';
import { assertFinding, readFindings, runDoctor, UNUSED_PORTS } from '../support/doctor.ts';
import { createFixtures } from '../support/fixtures.ts';
import { startMailServer } from '../support/mail-server.ts';

const UNKNOWN_ID = '0190b9a1-6f2b-7a11-8f00-5d1c2b3a4f60';
const KEYS = ['Vw0k4XGn1q8sT7mZc3yB5rJ6uH9eLdPf', 'Qa2zWsX3edC4rfV5tgB6yhN7ujM8ikLo'] as const;

test('the doctor finds no problem with a healthy server, while it runs, and prints no secret', async () => {
  const cli = createCommandLine();
  const server = await cli.serve({ SECRET_KEYS: KEYS[0] });
  const env = { BASE_URL: server.api, CONSENT_URL: server.web, SECRET_KEYS: KEYS[0], LOG_LEVEL: 'info' };

  const { findings, stdout, of } = await runDoctor(cli, env, true);
  const { stdout: lines, status } = await cli.run(['doctor'], { env });
  const ready = await fetch(`${server.api}/readyz`);
  await server.end('SIGKILL');

  assert.deepEqual(of('problem'), []);
  for (const about of ['settings', 'clock', 'database', 'keys', 'mail', 'addresses']) {
    assert.ok(
      of('ok').some((finding) => finding.about === about),
      about,
    );
  }
  assertFinding(findings, 'ok', /The file is intact/);
  assertFinding(findings, 'ok', /BASE_URL: .*\/readyz responds/);
  assertFinding(findings, 'ok', /CONSENT_URL: .*\/sign-in responds/);
  assert.equal(status, 0);
  assert.match(lines, /^ok {7}settings {2}All settings are valid\.$/m);
  assert.equal(ready.status, 200);
  for (const text of [stdout, lines]) assert.equal(text.includes(KEYS[0]), false);
});

test('in an empty folder the doctor reports what is missing and creates nothing', async () => {
  const cli = createCommandLine();

  const { findings } = await runDoctor(cli);

  assertFinding(findings, 'warning', /There is no database yet/);
  assertFinding(findings, 'warning', /There is no key yet/);
  assertFinding(findings, 'warning', /BASE_URL: nothing listens on/);
  assert.deepEqual(readdirSync(cli.folder), []);
});

const WRONG: [what: string, env: Record<string, string>, level: string, message: RegExp][] = [
  ['an invalid setting', { LOG_LEVEL: 'loud' }, 'problem', /^LOG_LEVEL must be one of/],
  ['a second invalid setting', { LOG_LEVEL: 'loud', LIMIT_PER_APP: 'x' }, 'problem', /^LIMIT_PER_APP must be/],
  ['keys that are too short', { SECRET_KEYS: 'hunter2' }, 'problem', /^SECRET_KEYS must be/],
  [
    'a key that is not random',
    { SECRET_KEYS: 'secretsecretsecretsecretsecretsecret' },
    'warning',
    /does not look random/,
  ],
  ['a misspelled setting', { CONSENT_URI: 'https://x.example' }, 'warning', /^CONSENT_URI is not a setting/],
  ['a key twice', { SECRET_KEYS: `${KEYS[0]},${KEYS[0]}` }, 'warning', /listed twice/],
  ['a missing key file', { SECRET_KEYS_FILE: 'nothing' }, 'problem', /^SECRET_KEYS_FILE .*ENOENT/],
  [
    'webhooks to this machine',
    { BASE_URL: 'https://gatehouse.invalid', WEBHOOKS_TO_LOOPBACK: 'yes' },
    'problem',
    /^WEBHOOKS_TO/,
  ],
  ['no proxy', { BASE_URL: 'https://gatehouse.invalid' }, 'warning', /^TRUST_PROXY is off/],
  [
    'an invalid proxy address',
    { TRUST_PROXY: '127.0.0.1,proxy' },
    'problem',
    /^TRUST_PROXY contains invalid addresses: proxy/,
  ],
  [
    'a name without an address',
    { BASE_URL: 'https://gatehouse.invalid' },
    'problem',
    /no address was found for gatehouse\.invalid/,
  ],
  ['one origin for both hosts', { CONSENT_URL: UNUSED_PORTS.BASE_URL }, 'warning', /the same origin/],
  ['metrics on a public address', { METRICS_LISTEN: '0.0.0.0:9464' }, 'warning', /^METRICS_LISTEN binds 0\.0\.0\.0/],
  ['an unreachable database', { DATABASE_URL: 'postgres://x:y@127.0.0.1:1/z' }, 'problem', /cannot be used/],
];

test('each problem is reported, with its fix', async () => {
  const cli = createCommandLine();
  for (const [what, env, level, message] of WRONG) {
    const defaults = { SECRET_KEYS: 'SECRET_KEYS_FILE' in env ? '' : KEYS[0] };
    const { findings, stdout } = readFindings(
      await cli.run(['doctor', '--json'], { env: { ...UNUSED_PORTS, ...defaults, ...env } }),
    );

    assertFinding(findings, level, message);
    assert.equal(stdout.includes('hunter2'), false, what);
  }
});

test('the doctor connects to the mail server, sends nothing, and prints no password', async () => {
  const cli = createCommandLine();
  const smtp = await startMailServer();
  const wrong = { ...smtp.env, SMTP_URL: 'smtp://gatehouse:hunter2@127.0.0.1:1' };

  const good = await runDoctor(cli, { SECRET_KEYS: KEYS[0], ...smtp.env });
  const bad = await runDoctor(cli, { SECRET_KEYS: KEYS[0], ...wrong });

  assertFinding(good.findings, 'ok', /accepts mail from no-reply@gatehouse\.example/);
  assertFinding(bad.findings, 'problem', /The mail server 127\.0\.0\.1:1 cannot be used/);
  assert.equal(bad.stdout.includes('hunter2'), false);
  assert.equal(smtp.attempts(), 0);
});

test('webhook secrets under a removed key are counted, and so are those under an old key', async () => {
  const cli = await createCommandLineWithDatabase();
  const storage = await openStorage(cli.databaseUrl);
  const { ledger } = await createFixtures(() => storage, Date.now);
  const endpoint = { appId: ledger.id, url: 'https://example.com/', eventTypes: ['invoice.paid'] };
  await storage.transaction((db) => insertEndpoint(db, createKeyring([KEYS[0]]), endpoint, Date.now()));
  await storage.close();

  const outdated = await runDoctor(cli, { SECRET_KEYS: `${KEYS[1]},${KEYS[0]}` });
  const lost = await runDoctor(cli, { SECRET_KEYS: KEYS[1] });

  assertFinding(outdated.findings, 'warning', /The secret of 1 webhook endpoint is encrypted with an old key/);
  assertFinding(lost.findings, 'problem', /The secret of 1 webhook endpoint is encrypted with a key that was removed/);
});

test('with BUSINESS_API=off, the doctor warns until INTROSPECTION_CLIENTS names an active first-party app', async () => {
  const cli = await createCommandLineWithDatabase();
  const env = { SECRET_KEYS: KEYS[0], BUSINESS_API: 'off' };
  const app = ['--platform', '--name', 'API', '--redirect-uri', 'http://127.0.0.1:1/', '--scope', 'read:invoices'];

  const before = await runDoctor(cli, env);
  const { client_id } = await cli.json(['app', 'add', ...app]);
  const registered = await runDoctor(cli, env);
  const unknown = await runDoctor(cli, { ...env, INTROSPECTION_CLIENTS: `${client_id},${UNKNOWN_ID}` });
  const afterwards = await runDoctor(cli, { ...env, INTROSPECTION_CLIENTS: client_id });

  assertFinding(before.findings, 'warning', /no app may introspect/);
  assertFinding(registered.findings, 'warning', /no app may introspect/);
  assertFinding(unknown.findings, 'warning', new RegExp(`${UNKNOWN_ID}, which is not an active first-party app`));
  assert.equal(
    afterwards.findings.some(({ message }) => /introspect/.test(message)),
    false,
  );
});

test('a key file or a database that other users can read is reported', async () => {
  const cli = await createCommandLineWithDatabase();
  const keys = join(cli.folder, 'keys');
  writeFileSync(keys, KEYS[0]);
  for (const file of [keys, join(cli.folder, 'gatehouse.db')]) chmodSync(file, 0o644);

  const { findings } = await runDoctor(cli, { SECRET_KEYS_FILE: keys });

  assertFinding(findings, 'problem', /Other users of this machine can read .*keys/);
  assertFinding(findings, 'warning', /Other users of this machine can read the file/);
});

test('a key file that its group can read, as Kubernetes mounts it, is not reported', async () => {
  const cli = await createCommandLineWithDatabase();
  const keys = join(cli.folder, 'keys');
  writeFileSync(keys, KEYS[0]);
  chmodSync(keys, 0o440);

  const { findings } = await runDoctor(cli, { SECRET_KEYS_FILE: keys });

  assertFinding(findings, 'ok', /There is one key/);
});

test('a damaged database is a problem, and is not changed', async () => {
  const cli = await createCommandLineWithDatabase();
  await cli.json(['business', 'add', '--name', 'Acme']);
  const file = join(cli.folder, 'gatehouse.db');
  const { size } = statSync(file);
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(size - 8192, 0x5a), 0, size - 8192, 8192);
  closeSync(handle);

  const { of } = await runDoctor(cli, { SECRET_KEYS: KEYS[0] });

  assert.ok(of('problem').some(({ about }) => about === 'database'));
  assert.equal(statSync(file).size, size);
  assert.ok(existsSync(file));
});

test('the doctor reports what is left after stops, and warns if it takes more than an hour', async () => {
  const cli = await createCommandLineWithDatabase();
  const storage = await openStorage(cli.databaseUrl);
  const followUp = { kind: 'end', appId: UNKNOWN_ID, reason: 'app_tokens_ended' } as const;
  await requestFollowUp(storage.durable, followUp, Date.now());
  const { findings: soon } = await runDoctor(cli);
  await requestFollowUp(storage.durable, followUp, Date.now() - 2 * HOUR);
  await storage.close();

  const { findings: late } = await runDoctor(cli);

  assertFinding(soon, 'ok', /not finished: 1, with 0 grants done/);
  assertFinding(late, 'warning', /not finished: 2, with 0 grants done, the oldest since /);
});
