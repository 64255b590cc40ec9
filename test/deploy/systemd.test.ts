import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createCommandLine } from '../support/command-line.ts';
import { readText, SHUTDOWN, unknownVariables } from './files.ts';

const unit = readText('deploy/systemd/gatehouse.service');

function directive(name: string): string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
}

test('the unit runs a command that exists, and gives it time to shut down', async () => {
  const [, command = ''] = directive('ExecStart')[0]?.split(' ') ?? [];

  const { status } = await createCommandLine().run([command, '--help'], { asProcess: false });

  assert.equal(status, 0);
  assert.equal(command, 'serve');
  // Workers are killed after half a minute.
  assert.ok(Number(directive('TimeoutStopSec')[0]) > Math.max(SHUTDOWN, 30));
});

test('every variable of the unit is a setting, and every file of a setting is a credential', () => {
  const variables = directive('Environment').flatMap((line) => line.split(' ').map((pair) => pair.split('=')));
  const files = variables.filter(([name]) => name?.endsWith('_FILE')).map(([, file]) => file);

  assert.deepEqual(unknownVariables(variables.map(([name = '']) => name)), []);
  assert.deepEqual(
    files.sort(),
    directive('LoadCredential')
      .map((credential) => `%d/${credential.split(':')[0]}`)
      .sort(),
  );
});

/** Replaces systemd, whose units no test can start. Prints the properties, and runs the command with what they name, as systemd would. */
const SYSTEMD_RUN = `#!${process.execPath}
const { spawnSync } = require('node:child_process');
const { copyFileSync, readFileSync } = require('node:fs');
const given = process.argv.slice(2);
const start = given.findIndex((each) => !each.startsWith('--'));
const env = { PATH: '/usr/bin:/bin', CREDENTIALS_DIRECTORY: process.env.CREDENTIALS };
for (const option of given.slice(0, start)) {
  console.log(option);
  const [, name, value] = /^--property=(\\w+)=(.*)$/.exec(option) ?? [];
  if (name === 'EnvironmentFile') for (const line of readFileSync(value, 'utf8').trim().split('\\n')) {
    env[line.slice(0, line.indexOf('='))] = line.slice(line.indexOf('=') + 1);
  }
  if (name === 'LoadCredential') copyFileSync(value.split(':')[1], process.env.CREDENTIALS + '/' + value.split(':')[0]);
}
const [program, ...args] = given.slice(start).map((each) => each.replaceAll(/\\$\\{\\w*\\}|\\$\\$/g, (found) => found === '$$' ? '$' : ''));
process.exitCode = spawnSync(program, args, { env, stdio: 'inherit' }).status;
`;

/** The unit on this machine, with a program that prints its environment and arguments. */
function installUnit() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-unit-'));
  after(() => rmSync(folder, { recursive: true }));
  for (const each of ['bin', 'etc', 'credentials']) mkdirSync(join(folder, each));
  const installed = unit.replaceAll('/etc/gatehouse', join(folder, 'etc')).replaceAll('/opt/gatehouse', folder);
  const files = {
    'etc/settings': 'PLATFORM_NAME=Acme Ltd # 1\nBASE_URL=https://api.example.com\n',
    'etc/keys': 'the keys',
    'etc/database-url': 'the url',
    'gatehouse.service': installed,
    'bin/systemctl': `#!/bin/sh\ncat ${folder}/gatehouse.service\n`,
    'bin/systemd-run': SYSTEMD_RUN,
    'bin/gatehouse': '#!/bin/sh\nenv; cat "$SECRET_KEYS_FILE" "$DATABASE_URL_FILE"; printf "<%s>" "$@"; exit 3\n',
  };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  for (const each of ['systemctl', 'systemd-run', 'gatehouse']) chmodSync(join(folder, 'bin', each), 0o755);
  return folder;
}

test('a command runs with the settings, the secrets and the user of the unit, and with its own arguments as they are', () => {
  const folder = installUnit();
  const env = {
    PATH: `${join(folder, 'bin')}${delimiter}${process.env.PATH}`,
    CREDENTIALS: join(folder, 'credentials'),
  };
  const program = fileURLToPath(new URL('../../deploy/systemd/gatehouse-command.sh', import.meta.url));
  const name = ['A "$B" $', "{C}'s $$1"].join('');
  const args = ['business', 'add', '--name', name, ''];

  const { status, stdout, stderr } = spawnSync('/bin/sh', [program, ...args], { env, encoding: 'utf8' });

  assert.equal(stderr, '');
  assert.equal(status, 3);
  for (const line of ['--wait', '--property=User=gatehouse', '--property=Group=gatehouse', '--property=UMask=0077']) {
    assert.ok(stdout.split('\n').includes(line), line);
  }
  assert.match(stdout, /^PLATFORM_NAME=Acme Ltd # 1$/m);
  assert.match(stdout, /^NODE_ENV=production$/m);
  assert.match(stdout, /the keysthe url/);
  assert.ok(stdout.endsWith(args.map((each) => `<${each}>`).join('')), stdout);
});
