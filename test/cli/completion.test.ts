import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createCommandLine } from '../support/command-line.ts';

const cli = createCommandLine();
writeFileSync(join(cli.folder, 'contacts.csv'), '');

type Complete = (script: string, line: string) => string;

const run = (shell: string, program: string, ...args: string[]) =>
  execFileSync(shell, ['-c', program, shell, ...args], { cwd: cli.folder, encoding: 'utf8' });

const SHELLS: Record<string, Complete> = {
  bash: (script, line) =>
    run(
      'bash',
      `source "$1"; COMP_LINE="$2"; COMP_POINT=\${#COMP_LINE}; _gatehouse; printf '%s\\n' "\${COMPREPLY[@]}"`,
      script,
      line,
    ),
  // zsh completes only in its line editor, so a replacement of compadd prints the candidates.
  zsh: (script, line) =>
    run(
      'zsh',
      `compdef() { }; source "$1"; compadd() { print -l -- "\${@[2,-1]}" }; _files() { print -l -- *(.) }
       _describe() { print -l -- "\${(@P)2%%:*}" }
       words=("\${(@s: :)2}"); CURRENT=\${#words}; _gatehouse`,
      script,
      line,
    ),
  fish: (script, line) =>
    execFileSync('fish', ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', script, line], {
      cwd: cli.folder,
      encoding: 'utf8',
      env: { ...process.env, HOME: cli.folder },
    }).replace(/\t.*$/gm, ''),
};

const COMPLETIONS: [line: string, words: string[], without: string[]][] = [
  ['gatehouse ', ['serve', 'user', 'completion', 'help'], ['add', '--email']],
  ['gatehouse user ', ['add', 'list', 'set-password'], ['serve', '--email']],
  ['gatehouse help user ', ['add', 'list'], ['serve']],
  ['gatehouse user add --', ['--email', '--role', '--json', '--help'], ['--scope']],
  ['gatehouse user add --email a@b.c --role ', ['owner', 'admin', 'member'], ['--email', 'contacts.csv']],
  ['gatehouse app change --pkce ', ['yes', 'no'], ['--app']],
  ['gatehouse completion ', ['bash', 'zsh', 'fish'], ['serve']],
  ['gatehouse backup --to ', ['contacts.csv'], ['--force']],
];

for (const [shell, complete] of Object.entries(SHELLS)) {
  const isInstalled = spawnSync(shell, ['-c', 'true']).status === 0;
  const skip = shell !== 'bash' && !isInstalled && `${shell} is not installed`;

  test(`${shell} completes commands, options, values and files`, { skip }, async () => {
    const script = join(cli.folder, `gatehouse.${shell}`);
    writeFileSync(script, (await cli.run(['completion', shell])).stdout);

    for (const [line, words, without] of COMPLETIONS) {
      const offered = complete(script, line).split('\n');
      assert.deepEqual(
        words.filter((word) => !offered.includes(word)),
        [],
        `${line}: ${offered.join(' ')}`,
      );
      assert.ok(!without.some((word) => offered.includes(word)), `${line}: ${offered.join(' ')}`);
    }
  });
}

test('bash completes the part of a scope after its colon', async () => {
  const script = join(cli.folder, 'gatehouse.bash');
  writeFileSync(script, (await cli.run(['completion', 'bash'])).stdout);

  assert.equal(SHELLS.bash?.(script, 'gatehouse app add --scope read:invo'), 'invoices\n');
});

test('an unknown shell is rejected', async () => {
  const { status, stderr } = await cli.run(['completion', 'tcsh']);

  assert.equal(status, 1);
  assert.match(stderr, /^SHELL must be bash, zsh or fish\. /);
});
