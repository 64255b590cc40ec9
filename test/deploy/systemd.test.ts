import assert from 'node:assert/strict';
import { test } from 'node:test';
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
