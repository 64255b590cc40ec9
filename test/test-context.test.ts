import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const RUNNER = fileURLToPath(new URL('../scripts/test-files.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-runner-'));
after(() => rmSync(folder, { recursive: true }));

/** Runs these tests in one file, and returns the lines of the report. */
function runFile(name: string, tests: string): string[] {
  const file = join(folder, `${name}.test.mjs`);
  const imports = "import { after, test } from 'node:test'; import { setImmediate } from 'node:timers/promises';";
  writeFileSync(file, `${imports}\nconst never = new Promise(() => {});\n${tests}`);
  const { NODE_TEST_CONTEXT, TEST_TAKEN, ...env } = process.env;
  const args = ['--test-reporter=tap', '--test-reporter-destination=stdout', RUNNER, file];
  const { stdout } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  return stdout.split('\n').filter((line) => /^ *(?:not ok|ok|ran)/.test(line));
}

test('what a test registers with after runs when that test ends, and what a file registers when the file ends', () => {
  const lines = runFile(
    'after',
    `after(() => console.log('ran after the file'));
    await setImmediate();
    test('one', async () => { await setImmediate(); after(() => console.log('ran after one')); });
    test('two', async () => console.log('ran two'));`,
  );

  assert.deepEqual(
    lines.filter((line) => line.startsWith('ran')),
    ['ran after one', 'ran two', 'ran after the file'],
  );
});

test('an uncaught error fails the test that caused it, and ends it', () => {
  const lines = runFile(
    'errors',
    `test('throws', async () => { await setImmediate(); setTimeout(() => { throw new Error(); }); await never; });
    test('rejects', async () => { await setImmediate(); Promise.reject(new Error()); await never; });
    test('passes', async () => {});`,
  );

  assert.deepEqual(
    lines.slice(0, 3).map((line) => line.trim()),
    ['not ok 1 - throws', 'not ok 2 - rejects', 'ok 3 - passes'],
  );
});
