import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startProgress } from '../scripts/test/progress.ts';

const RUNNER = fileURLToPath(new URL('../scripts/test', import.meta.url));
/** The last test does not end before the process is killed. */
const TESTS = `import { test } from 'node:test';
test('passes', () => {});
test('fails', () => { throw new Error('The reason.\\nIts second line.'); });
test('is skipped', { skip: true }, () => {});
test('takes long', () => new Promise((resolve) => setTimeout(resolve, 1e6)));
`;

/** Runs these tests as the runner does. Returns what is printed until the failed test is there. */
async function printed(t: TestContext, isTTY: boolean) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-progress-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'sample.test.mjs');
  writeFileSync(file, TESTS);
  const written: string[] = [];
  const output = { isTTY, columns: 60, write: (text: string) => written.push(text) };
  const files = { total: 3, countEnded: () => 1, listRunning: () => ['test/http/two.test.ts'] };
  const progress = startProgress({ results: folder, files, output });
  const destination = join(folder, 'results-1.jsonl');
  const reporter = [`--test-reporter=${RUNNER}/results.mjs`, `--test-reporter-destination=${destination}`];
  const { NODE_TEST_CONTEXT, TEST_TAKEN, ...env } = process.env;
  const child = spawn(process.execPath, [...reporter, `${RUNNER}/files.mjs`, file], { env, stdio: 'ignore' });
  try {
    while (!written.join('').includes('✖ fails')) await setTimeout(20);
  } finally {
    child.kill('SIGKILL');
    progress.end();
  }
  return written.join('');
}

test('a failed test is printed with its error while the others run, and once more at the end with the sum', async (t) => {
  const text = await printed(t, false);

  assert.match(text, /^✖ fails \(.*sample\.test\.mjs\)\n {2}Error: The reason\.\n {2}Its second line\.\n/);
  assert.match(text, /\nFailed:\n {2}.*sample\.test\.mjs: fails\n\n1 passed, 1 failed, 1 skipped\n$/);
});

test('a terminal shows in its last line how far the run is', async (t) => {
  const text = await printed(t, true);

  const line = text.split('\r\x1b[K').findLast((each) => each.startsWith('0:'));
  assert.match(line ?? '', /^0:\d\d {2}1 passed, 1 failed, 1 of 3 files {2}two$/);
});
