import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs, { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createLocalKey } from '../src/config/keys.ts';
import { readDatabaseUrl, readSettings, type Settings } from '../src/config/settings.ts';
import { InvalidSetting } from '../src/lib/errors.ts';

const DAY = 86_400_000;
const KEY = 'a-key-of-at-least-thirty-two-characters';
const ID = '0190b9a1-6f2b-7a11-8f00-5d1c2b3a4f60';
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
const home = process.cwd();
process.chdir(folder);
after(() => {
  process.chdir(home);
  rmSync(folder, { recursive: true, force: true });
});

const read = (env: Record<string, string> = {}) => readSettings({ SECRET_KEYS: KEY, ...env });

const DEFAULTS: Settings = {
  baseUrl: 'http://localhost:4000',
  consentUrl: 'http://localhost:4001',
  listen: { host: 'localhost', port: 4000 },
  consentListen: { host: 'localhost', port: 4001 },
  metricsListen: undefined,
  traces: undefined,
  databaseUrl: 'sqlite:data/gatehouse.db',
  secretKeys: [KEY],
  retryWindow: 30_000,
  trustProxy: false,
  hstsIncludesSubdomains: true,
  platformName: 'Gatehouse',
  branding: { logo: undefined, accent: undefined, links: [] },
  servesResources: true,
  servesMcp: true,
  mcpAllowedOrigins: [],
  introspectionClients: new Set(),
  webhooksToLoopback: false,
  externalClients: {
    documentHosts: 'any',
    acceptsRegistrations: false,
    privateSchemes: [],
    bounds: { user: 100, business: 1000 },
  },
  workers: 1,
  smtp: undefined,
  logLevel: 'info',
  auditRetention: undefined,
  limits: {
    signInPerAccount: 20,
    signInPerAddress: 300,
    perApp: 100_000,
    wrongSecrets: 300,
    perGrant: 100_000,
    perUser: 1000,
    changesPerUser: 120,
    exportsPerUser: 20,
    externalClients: 60,
  },
  timeouts: {
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 72_000,
    connectionsCheckingInterval: 1000,
    maxConnections: 10_000,
  },
  overload: { maxEventLoopDelay: 500, sampleInterval: 1000, minRequests: 100 },
  webhookTimeout: 15_000,
  clientMetadataTimeout: 5000,
};

test('with only the keys set, every other setting has its default', () => {
  assert.deepEqual(read(), DEFAULTS);
});

test('a setting that is empty counts as not set', () => {
  const names = [
    'BASE_URL',
    'CONSENT_URL',
    'LISTEN',
    'DATABASE_URL',
    'REFRESH_RETRY_SECONDS',
    'TRUST_PROXY',
    'LOG_LEVEL',
    'INTROSPECTION_CLIENTS',
  ];

  assert.deepEqual(read(Object.fromEntries(names.map((name) => [name, '']))), DEFAULTS);
});

const ACCEPTED: [env: Record<string, string>, expected: Partial<Settings>][] = [
  [{ BUSINESS_API: 'off' }, { servesResources: false, servesMcp: false }],
  [
    { BUSINESS_API: 'off', MCP: 'on' },
    { servesResources: false, servesMcp: true },
  ],
  [{ MCP: 'off' }, { servesMcp: false }],
  [
    { MCP_ALLOWED_ORIGINS: 'https://agents.example.com, http://localhost:6274' },
    { mcpAllowedOrigins: ['https://agents.example.com', 'http://localhost:6274'] },
  ],
  [{ INTROSPECTION_CLIENTS: `${ID.toUpperCase()}, ${ID}` }, { introspectionClients: new Set([ID]) }],
  [
    { BASE_URL: 'https://auth.example.com' },
    { baseUrl: 'https://auth.example.com', listen: { host: '127.0.0.1', port: 4000 } },
  ],
  [{ BASE_URL: 'https://auth.example.com/' }, { baseUrl: 'https://auth.example.com' }],
  [{ BASE_URL: 'https://auth.example.com:8443' }, { baseUrl: 'https://auth.example.com:8443' }],
  [{ BASE_URL: 'http://127.0.0.1:5000' }, { listen: { host: '127.0.0.1', port: 5000 } }],
  [{ BASE_URL: 'http://[::1]:5000' }, { listen: { host: '::1', port: 5000 } }],
  [{ CONSENT_URL: 'https://login.example.com' }, { consentListen: { host: '127.0.0.1', port: 4001 } }],
  [{ LISTEN: '0.0.0.0:80' }, { listen: { host: '0.0.0.0', port: 80 } }],
  [{ LISTEN: '8080' }, { listen: { host: '127.0.0.1', port: 8080 } }],
  [{ CONSENT_LISTEN: '[::]:81' }, { consentListen: { host: '::', port: 81 } }],
  [{ METRICS_LISTEN: '9464' }, { metricsListen: { host: '127.0.0.1', port: 9464 } }],
  [{ METRICS_LISTEN: '10.0.0.5:9464' }, { metricsListen: { host: '10.0.0.5', port: 9464 } }],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/', OTEL_TRACES_SAMPLER_ARG: '0.1' },
    { traces: { endpoint: 'http://127.0.0.1:4318', ratio: 0.1 } },
  ],
  [{ SECRET_KEYS: `${KEY}, ${KEY}2` }, { secretKeys: [KEY, `${KEY}2`] }],
  [{ REFRESH_RETRY_SECONDS: '0' }, { retryWindow: 0 }],
  [{ REFRESH_RETRY_SECONDS: '300' }, { retryWindow: 300_000 }],
  [{ TRUST_PROXY: 'off' }, { trustProxy: false }],
  [{ TRUST_PROXY: '10.0.0.0/8,127.0.0.1' }, { trustProxy: '10.0.0.0/8,127.0.0.1' }],
  [{ PLATFORM_NAME: 'Acme Cloud' }, { platformName: 'Acme Cloud' }],
  [
    { SMTP_URL: 'smtp://127.0.0.1:25', MAIL_FROM: 'Acme Ltd <no-reply@acme.example>' },
    { smtp: { smtpUrl: 'smtp://127.0.0.1:25', from: { name: 'Acme Ltd', address: 'no-reply@acme.example' } } },
  ],
  [
    { SMTP_URL: 'smtps://u:p@mail.acme.example', MAIL_FROM: 'no-reply@acme.example', PLATFORM_NAME: 'Acme' },
    { smtp: { smtpUrl: 'smtps://u:p@mail.acme.example', from: { name: 'Acme', address: 'no-reply@acme.example' } } },
  ],
  [{ LOG_LEVEL: 'silent' }, { logLevel: 'silent' }],
  [
    {
      DYNAMIC_REGISTRATION: 'on',
      CLIENT_ID_METADATA: 'claude.ai, chatgpt.com',
      PRIVATE_REDIRECT_SCHEMES: 'cursor',
      MAX_EXTERNAL_APPS_PER_USER: '5',
      MAX_EXTERNAL_APPS_PER_BUSINESS: '50',
    },
    {
      externalClients: {
        documentHosts: ['claude.ai', 'chatgpt.com'],
        acceptsRegistrations: true,
        privateSchemes: ['cursor'],
        bounds: { user: 5, business: 50 },
      },
    },
  ],
  [{ AUDIT_RETENTION_DAYS: '365' }, { auditRetention: 365 * DAY }],
  [{ DATABASE_URL: 'sqlite:/var/lib/gatehouse.db' }, { databaseUrl: 'sqlite:/var/lib/gatehouse.db' }],
];

for (const [env, expected] of ACCEPTED) {
  test(`${setting(env)} is accepted`, () => {
    assert.partialDeepStrictEqual(read(env), expected);
  });
}

test('each limit can be set', () => {
  const { limits } = read({
    LIMIT_SIGN_IN_PER_ACCOUNT: '1',
    LIMIT_SIGN_IN_PER_ADDRESS: '2',
    LIMIT_PER_APP: '3',
    LIMIT_WRONG_SECRETS: '4',
    LIMIT_PER_GRANT: '5',
    LIMIT_PER_USER: '6',
    LIMIT_CHANGES_PER_USER: '7',
    LIMIT_EXTERNAL_CLIENTS: '8',
    LIMIT_EXPORTS_PER_USER: '9',
  });

  const ofApps = { perApp: 3, wrongSecrets: 4, perGrant: 5 };
  const ofUsers = { signInPerAccount: 1, signInPerAddress: 2, perUser: 6, changesPerUser: 7, exportsPerUser: 9 };
  assert.deepEqual(limits, { ...ofUsers, ...ofApps, externalClients: 8 });
});

const REJECTED: Record<string, string>[] = [
  { SMTP_URL: 'http://mail.example.com', MAIL_FROM: 'a@example.com' },
  { MAIL_FROM: 'nobody', SMTP_URL: 'smtp://mail.example.com' },
  { MAIL_FROM: 'A <a@example.com>, <b@example.com>', SMTP_URL: 'smtp://mail.example.com' },
  { BASE_URL: 'localhost:4000' },
  { BASE_URL: 'http://localhost:4000/auth' },
  { BASE_URL: 'https://auth.example.com?x=1' },
  { BASE_URL: 'https://auth.example.com#x' },
  { BASE_URL: 'https://user@auth.example.com' },
  { BASE_URL: 'ftp://auth.example.com' },
  { BASE_URL: 'http://auth.example.com' },
  { CONSENT_URL: 'http://login.example.com' },
  { CONSENT_URL: 'nonsense' },
  { LISTEN: 'localhost' },
  { LISTEN: 'localhost:x' },
  { LISTEN: '127.0.0.1:65536' },
  { CONSENT_LISTEN: ':' },
  { METRICS_LISTEN: 'on' },
  { CLIENT_ID_METADATA: 'yes' },
  { CLIENT_ID_METADATA: 'https://claude.ai' },
  { CLIENT_ID_METADATA: 'claude.ai/oauth' },
  { CLIENT_ID_METADATA: '*.example.com' },
  { CLIENT_ID_METADATA: 'Claude.ai' },
  { DYNAMIC_REGISTRATION: 'true' },
  { PRIVATE_REDIRECT_SCHEMES: 'cursor://' },
  { PRIVATE_REDIRECT_SCHEMES: 'cursor,javascript' },
  { PRIVATE_REDIRECT_SCHEMES: 'https' },
  { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' },
  { OTEL_TRACES_SAMPLER_ARG: '2' },
  { SECRET_KEYS: 'short' },
  { SECRET_KEYS: `${KEY},short` },
  { SECRET_KEYS: `${KEY},` },
  { REFRESH_RETRY_SECONDS: '-1' },
  { REFRESH_RETRY_SECONDS: '301' },
  { REFRESH_RETRY_SECONDS: '1.5' },
  { REFRESH_RETRY_SECONDS: 'soon' },
  { LOG_LEVEL: 'loud' },
  { BUSINESS_API: 'yes' },
  { MCP: 'yes' },
  { MCP_ALLOWED_ORIGINS: '*' },
  { MCP_ALLOWED_ORIGINS: 'http://agents.example.com' },
  { INTROSPECTION_CLIENTS: 'all' },
  { INTROSPECTION_CLIENTS: `${ID},` },
  { AUDIT_RETENTION_DAYS: '0' },
  { AUDIT_RETENTION_DAYS: 'forever' },
  { PLATFORM_LOGO: 'no-such-file.png' },
  { PLATFORM_LOGO: `data:image/png;base64,${Buffer.from('<svg/>').toString('base64')}` },
  { ACCENT_COLOR: 'blue' },
  { ACCENT_COLOR: '#1f4fd8,' },
  { ACCENT_COLOR: '#1f4fd8;}' },
  { ACCENT_COLOR: '#1f4fd8,#a9b5ff,#ffffff' },
  { ACCENT_COLOR: '#ffff00,#a9b5ff' },
  { ACCENT_COLOR: '#1f4fd8,#1f4fd8' },
  { FOOTER_LINKS: 'Privacy' },
  { FOOTER_LINKS: 'Privacy=http://example.com/' },
  { FOOTER_LINKS: 'Privacy=javascript:alert(1)' },
  { FOOTER_LINKS: '=https://example.com/' },
  { FOOTER_LINKS: Array.from({ length: 7 }, (_, i) => `L${i}=https://example.com/`).join(',') },
  { MAX_EXTERNAL_APPS_PER_USER: '0' },
  { MAX_EXTERNAL_APPS_PER_BUSINESS: '10001' },
  { LIMIT_SIGN_IN_PER_ACCOUNT: '0' },
  { LIMIT_SIGN_IN_PER_ADDRESS: 'none' },
  { LIMIT_PER_APP: '-5' },
  { LIMIT_WRONG_SECRETS: '1e3' },
  { LIMIT_PER_GRANT: '10000000000' },
];

for (const env of REJECTED) {
  test(`${setting(env)} is rejected in one sentence that names the setting`, () => {
    const [name = ''] = Object.keys(env);

    assert.throws(
      () => read(env),
      (error) => {
        assert.ok(error instanceof InvalidSetting);
        assert.ok(error.message.startsWith(name), error.message);
        assert.doesNotMatch(error.message, /\n/);
        return true;
      },
    );
  });
}

test('a rejected key is not repeated in the message', () => {
  assert.throws(
    () => read({ SECRET_KEYS: 'hunter2' }),
    (error) => error instanceof InvalidSetting && !error.message.includes('hunter2'),
  );
});

test('a public BASE_URL needs SECRET_KEYS', () => {
  const env = { BASE_URL: 'https://auth.example.com' };

  assert.throws(() => readSettings(env), /^Error: SECRET_KEYS must be set when BASE_URL is public/);
  assert.throws(() => readSettings({ ...env, SECRET_KEYS: ' , ' }), /SECRET_KEYS/);
});

const PUBLIC = { BASE_URL: 'https://auth.example.com', CONSENT_URL: 'https://login.example.com' };

for (const key of ['a'.repeat(32), 'ab'.repeat(40), 'changeme'.repeat(5), '1234567890'.repeat(4), '0110'.repeat(16)]) {
  test(`the key ${key} is rejected on a public host in one sentence that does not repeat it, and accepted on loopback`, () => {
    for (const SECRET_KEYS of [key, `${KEY},${key}`]) {
      for (const env of [PUBLIC, { CONSENT_URL: PUBLIC.CONSENT_URL }]) {
        assert.throws(
          () => readSettings({ ...env, SECRET_KEYS }),
          (error) =>
            error instanceof InvalidSetting && /^SECRET_KEYS /.test(error.message) && !error.message.includes(key),
        );
      }
      assert.ok(readSettings({ SECRET_KEYS }));
    }
    writeFileSync('weak', key);
    assert.throws(
      () => readSettings({ ...PUBLIC, SECRET_KEYS_FILE: 'weak' }),
      /^Error: SECRET_KEYS_FILE .*openssl rand/,
    );
  });
}

test('random keys of 128 bits and more are accepted on a public host, in base64 and in hexadecimal digits', () => {
  for (let round = 0; round < 200; round++) {
    const keys = [randomBytes(32).toString('base64'), randomBytes(24).toString('base64url')];
    const SECRET_KEYS = [...keys, randomBytes(16).toString('hex')].join();
    assert.equal(readSettings({ ...PUBLIC, SECRET_KEYS }).secretKeys.length, 3);
  }
});

test('webhooks to loopback are rejected on a public host', () => {
  const env = { WEBHOOKS_TO_LOOPBACK: 'yes' };

  assert.equal(read(env).webhooksToLoopback, true);
  assert.throws(() => read({ ...PUBLIC, ...env }), /^Error: WEBHOOKS_TO_LOOPBACK must be no/);
  assert.throws(() => read({ CONSENT_URL: PUBLIC.CONSENT_URL, ...env }), /^Error: WEBHOOKS_TO_LOOPBACK must be no/);
});

test('on a development machine a key is created once, kept, and readable only by its owner', () => {
  assert.throws(() => readSettings({}), /^Error: SECRET_KEYS is not set, and data\/secret-key does not exist/);
  createLocalKey();
  const first = readSettings({}).secretKeys;
  createLocalKey();
  const second = readSettings({}).secretKeys;

  assert.deepEqual(second, first);
  assert.ok((first[0] ?? '').length >= 43);
  assert.equal(readFileSync('data/secret-key', 'utf8'), `${first[0]}\n`);
  assert.equal(statSync('data/secret-key').mode & 0o777, 0o600);
});

test('keys can be in a file, separated by lines or commas, but not in the file and the variable at once', () => {
  writeFileSync('keys', `${KEY}1\n${KEY}2,${KEY}3\n`);

  assert.deepEqual(readSettings({ SECRET_KEYS_FILE: 'keys' }).secretKeys, [`${KEY}1`, `${KEY}2`, `${KEY}3`]);
  assert.throws(() => read({ SECRET_KEYS_FILE: 'keys' }), /^Error: SECRET_KEYS_FILE and SECRET_KEYS are both set/);
  assert.throws(() => readSettings({ SECRET_KEYS_FILE: 'nothing' }), /^Error: SECRET_KEYS_FILE .*ENOENT/);
  writeFileSync('short', `${KEY}\nhunter2\n`);
  assert.throws(
    () => readSettings({ SECRET_KEYS_FILE: 'short' }),
    (error) =>
      error instanceof InvalidSetting && /^SECRET_KEYS_FILE /.test(error.message) && !/hunter2/.test(error.message),
  );
});

for (const name of ['DATABASE_URL', 'SMTP_URL'] as const) {
  test(`${name} can be in a file, but not in the file and the variable at once`, () => {
    const file = `${name}_FILE`;
    const url = { DATABASE_URL: 'sqlite:of-the-file.db', SMTP_URL: 'smtps://user:hunter2@mail.example.com' }[name];
    const rest = { MAIL_FROM: name === 'SMTP_URL' ? 'no-reply@example.com' : '' };
    writeFileSync('url', `${url}\n`);
    writeFileSync('empty', '\n');

    const { databaseUrl, smtp } = read({ ...rest, [file]: 'url' });

    assert.equal(name === 'SMTP_URL' ? smtp?.smtpUrl : databaseUrl, url);
    assert.throws(() => read({ ...rest, [name]: url, [file]: 'url' }), new RegExp(`^Error: ${file} and ${name} are`));
    assert.throws(() => read({ ...rest, [file]: 'nothing' }), new RegExp(`^Error: ${file} .*ENOENT`));
    assert.throws(() => read({ ...rest, [file]: 'empty' }), new RegExp(`^Error: ${file} .*empty`));
  });
}

test('the database URL can be read even if every other setting is invalid', () => {
  assert.equal(readDatabaseUrl({ BASE_URL: 'nonsense' }), 'sqlite:data/gatehouse.db');
  assert.equal(readDatabaseUrl({ DATABASE_URL: 'sqlite:x.db' }), 'sqlite:x.db');
});

test('there are at most 37 settings', () => {
  const files = ['settings.ts', 'branding.ts', 'external-clients.ts', 'limits.ts'];
  const source = files.map((file) => readFileSync(new URL(`../src/config/${file}`, import.meta.url), 'utf8')).join('');

  const names = new Set(source.match(/\b[A-Z]+_[A-Z_]+\b(?=')|(?<=env\.)[A-Z_]+|(?<=')LISTEN(?=')/g));

  assert.ok(names.size > 5 && names.size <= 37, [...names].join(' '));
});

function setting(env: Record<string, string>): string {
  return Object.entries(env)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

test('a key that was just created survives a power cut: its file and both folders are synced', (context) => {
  rmSync('data', { recursive: true, force: true });
  const flushed: number[] = [];
  const { fsyncSync } = fs;
  fs.fsyncSync = (file) => {
    fsyncSync(file);
    flushed.push(fs.fstatSync(file).ino);
  };
  syncBuiltinESMExports();
  context.after(() => {
    fs.fsyncSync = fsyncSync;
    syncBuiltinESMExports();
  });

  createLocalKey();

  const names = ['data/secret-key', 'data', '.'];
  assert.deepEqual(
    names.filter((name) => !flushed.includes(statSync(name).ino)),
    [],
  );
});
