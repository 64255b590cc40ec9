import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../../src/cli/command.ts';
import { loadAll } from '../../src/cli/gatehouse.ts';
import { examplesOf } from '../../src/cli/help.ts';
import { createCommandLine, createCommandLineWithDatabase } from '../support/command-line.ts';
import { commandsOnDatabase } from '../support/every-command.ts';

const cli = createCommandLine();

/** Each command with its options. */
const COMMANDS: Record<string, string[]> = {
  serve: ['workers'],
  demo: [],
  migrate: ['plan', 'contract'],
  doctor: [],
  health: ['ready'],
  'business add': ['name'],
  'business list': [],
  'business change': ['business', 'name', 'require-second-factor'],
  'platform change': ['require-second-factor'],
  'user add': ['email', 'name', 'password-file', 'business', 'role', 'platform-admin'],
  'user list': [],
  'user disable': ['user'],
  'user enable': ['user'],
  'user end-connections': ['user'],
  'user set-password': ['user', 'password-file', 'end-grants'],
  'user password-link': ['user'],
  'user verify-email': ['user'],
  'user remove-passkeys': ['user'],
  'user remove-second-factor': ['user'],
  'member list': ['business'],
  'member invite': ['business', 'role', 'by', 'email'],
  'member add': ['user', 'business', 'role'],
  'member set-role': ['user', 'business', 'role'],
  'member remove': ['user', 'business'],
  'app add': ['name', 'redirect-uri', 'scope', 'business', 'any-business', 'platform', 'public', 'require-pkce'],
  'app change': ['app', 'name', 'redirect-uri', 'scope', 'open', 'pkce'],
  'app list': ['business'],
  'app disable': ['app'],
  'app enable': ['app'],
  'app pause': ['app'],
  'app resume': ['app'],
  'app delete': ['app'],
  'app end-tokens': ['app'],
  'app add-secret': ['app'],
  'app list-secrets': ['app'],
  'app remove-secret': ['app', 'secret'],
  'app identity': ['app', 'publisher', 'homepage', 'support', 'privacy', 'terms', 'logo'],
  'app verify': ['app'],
  'app unverify': ['app'],
  'endpoint add': ['app', 'url', 'event'],
  'endpoint list': ['app'],
  'endpoint change': ['app', 'endpoint', 'url', 'event'],
  'endpoint disable': ['app', 'endpoint'],
  'endpoint enable': ['app', 'endpoint'],
  'endpoint remove': ['app', 'endpoint'],
  'endpoint replace-secret': ['app', 'endpoint'],
  'endpoint test': ['app', 'endpoint'],
  'endpoint log': ['app', 'endpoint'],
  'endpoint resend': ['app', 'endpoint', 'delivery'],
  'invoice add': ['business', 'number', 'total', 'currency', 'customer', 'status'],
  'invoice set-status': ['business', 'number', 'status'],
  import: ['business', 'kind', 'format', 'dry-run'],
  export: ['business', 'kind', 'format', 'output'],
  'audit export': ['business', 'person', 'from', 'to', 'before'],
  'keys list': [],
  'keys add': ['to'],
  'keys rotate': ['use', 'to'],
  'keys reencrypt': [],
  'keys prune': ['keep', 'end-tokens', 'to'],
  'clock confirm': [],
  backup: ['to', 'force'],
  restore: ['from', 'keep-tokens'],
  listen: ['app', 'forward-to'],
  completion: [],
};

const WITHOUT_RESULT = ['serve', 'demo', 'listen'];

test('without arguments, or with --help, it lists every command with its summary', async () => {
  for (const args of [[], ['--help']]) {
    const { status, stdout } = await cli.run(args);
    const listed = [...stdout.matchAll(/^ {2}(\S+(?: \S+)*) {2,}\S/gm)].map(([, name]) => name);
    assert.equal(status, 0);
    assert.deepEqual(listed, Object.keys(COMMANDS));
  }
});

test('gatehouse --version prints the version of Gatehouse and of the Node that runs it', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

  assert.deepEqual(await cli.run(['--version']), {
    status: 0,
    stdout: `gatehouse ${version} (Node ${process.version})\n`,
    stderr: '',
  });
  for (const args of [['-V'], ['version']]) assert.deepEqual(await cli.run(args), await cli.run(['--version']));
  const { stdout } = await cli.run(['--version', '--json']);
  assert.deepEqual(JSON.parse(stdout), { gatehouse: version, node: process.version.slice(1) });
});

for (const [name, options] of Object.entries(COMMANDS)) {
  test(`gatehouse ${name} --help explains the command and each of its options, and does nothing`, async () => {
    const { status, stdout, stderr } = await cli.run([...name.split(' '), '--help']);

    const explained = [...stdout.matchAll(/^ {2}--([\w-]+)(?: [A-Z]+| yes\|no)? {2,}\S/gm)].map(([, option]) => option);
    assert.equal(status, 0);
    assert.equal(stderr, '');
    assert.match(stdout, new RegExp(`^gatehouse ${name}: \\w`));
    assert.deepEqual(explained, [...options, ...(WITHOUT_RESULT.includes(name) ? [] : ['json'])]);
    assert.ok(
      stdout.split('\n').every((line) => line.length <= 80),
      stdout,
    );
  });
}

test('the help of a command has a usage line with what it requires', async () => {
  const usageOf = async (command: string) => {
    const { stdout } = await cli.run([...command.split(' '), '--help']);
    return /^Usage: (.+?)\n\n/ms.exec(stdout)?.[1];
  };

  assert.equal(await usageOf('business add'), 'gatehouse business add --name NAME [OPTIONS]');
  assert.equal(await usageOf('serve'), 'gatehouse serve [OPTIONS]');
  assert.equal(await usageOf('import'), 'gatehouse import FILE --business ID --kind KIND [OPTIONS]');
  assert.equal(await usageOf('demo'), 'gatehouse demo');
  assert.equal(
    await usageOf('invoice add'),
    'gatehouse invoice add --business ID --number NUMBER --total AMOUNT\n         --currency CODE --customer ID [OPTIONS]',
  );
});

test('the help of a noun lists its commands only', async () => {
  for (const args of [
    ['business', '--help'],
    ['help', 'business'],
  ]) {
    const { stdout } = await cli.run(args);
    const listed = [...stdout.matchAll(/^ {2}(\S+(?: \S+)*) {2,}\S/gm)].map(([, name]) => name);
    assert.match(stdout, /^Usage: gatehouse business COMMAND \[OPTIONS\]\n/);
    assert.deepEqual(listed, ['business add', 'business list', 'business change']);
  }
});

test('the overview fits into 80 columns, and names the exit codes', async () => {
  const { stdout } = await cli.run([]);

  assert.deepEqual(
    stdout.split('\n').filter((line) => line.length > 80 && !line.endsWith('settings.md')),
    [],
  );
  assert.match(stdout, /Exit codes: 0 .* 1 .* 130/s);
});

test('the help of endpoint add names the setting that allows endpoints on localhost', async () => {
  for (const verb of ['add', 'change']) {
    const { stdout } = await cli.run(['endpoint', verb, '--help']);
    assert.match(stdout.replace(/\s+/g, ' '), /https, or with WEBHOOKS_TO_LOOPBACK=yes also http on localhost/);
  }
});

test('the overview names the file that describes all settings', async () => {
  const { stdout } = await cli.run([]);
  const [, file = ''] = /All settings:\s+(\S+settings\.md)/.exec(stdout) ?? [];

  assert.match(readFileSync(resolve(cli.folder, file), 'utf8'), /DATABASE_URL/);
});

test('every command has an example, which it accepts', async () => {
  for (const command of await loadAll()) {
    const examples = examplesOf(command);
    assert.ok(examples.length > 0, command.name);
    for (const example of examples) {
      const [, args = ''] = example.split(/ [<>] /)[0]?.split(new RegExp(`gatehouse ${command.name}`)) ?? [];
      const words = [...args.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word = '']) => quoted ?? word);
      assert.doesNotThrow(() => readOptions(command, words), example);
    }
  }
});

test('the first example of every command works, or fails only because what it names does not exist', async () => {
  const own = await createCommandLineWithDatabase();
  const env = { SECRET_KEYS_FILE: resolve(own.folder, 'keys') };
  writeFileSync(env.SECRET_KEYS_FILE, 'the-key-of-the-examples-of-all-commands');
  const expected = /^$|^--[\w-]+: (?:There is no such|.* does not exist|The keys were changed less than 30 days ago)/;
  // The log would go to the output of the tests.
  for (const args of (await commandsOnDatabase()).filter(([noun]) => noun !== 'audit')) {
    assert.match((await own.run(args, { env })).stderr, expected, args.join(' '));
  }
});

test('for a misspelt command or option, the error suggests the closest one', async () => {
  const misspelt: [args: string[], suggestion: string][] = [
    [['bussiness', 'list'], 'business list'],
    [['user', 'ad'], 'user add'],
    [['sevre'], 'serve'],
    [['user', 'add', '--emial', 'a@b.c'], '--email'],
    [['completion', 'bash', '--jsno'], '--json'],
  ];
  for (const [args, suggestion] of misspelt) {
    const { status, stderr } = await cli.run(args);
    assert.equal(status, 1);
    assert.ok(stderr.split('\n')[0]?.includes(` Did you mean ${suggestion}?`), stderr);
  }
  assert.doesNotMatch((await cli.run(['zzzzzzzz'])).stderr, /Did you mean/);
});

test('help is in color on a terminal only, and not with NO_COLOR', async () => {
  const env = { FORCE_COLOR: '1' };
  const start = '\u001b[';

  assert.ok(!(await cli.run(['--help'], { asProcess: true })).stdout.includes(start));
  assert.ok((await cli.run(['--help'], { asProcess: true, env })).stdout.includes(start));
  assert.ok(!(await cli.run(['--help'], { asProcess: true, env: { NO_COLOR: '1' } })).stdout.includes(start));
});

test('a reader that closes the pipe early gets no stack trace', () => {
  const program = [process.execPath, fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))].join(' ');
  const script = `(sleep 0.2; exec ${program} --help; ) | true; (exec ${program} completion bash) | head -1`;
  const { stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });

  assert.equal(stderr, '');
  assert.equal(stdout, '# bash completion of gatehouse\n');
});
