import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { LANES } from '../scripts/test/lanes.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folders = globSync('test/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] }).map((file) =>
  file.split('/').slice(0, 2).join('/'),
);

function read(file: string): string {
  return readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
}

test('CONTRIBUTING says for every lane when to run it', () => {
  for (const lane of Object.keys(LANES))
    assert.match(read('CONTRIBUTING.md'), new RegExp(`\`npm test -- ${lane}\``), lane);
});

test('every folder of a lane holds tests, is in one lane, and ARCHITECTURE.md names that lane', () => {
  const inLanes = Object.values(LANES).flat();
  assert.deepEqual([...new Set(inLanes)], inLanes);
  const rows = read('ARCHITECTURE.md').split('\n');
  for (const [lane, names] of Object.entries(LANES)) {
    for (const name of names) {
      assert.ok(folders.includes(name), name);
      const row = rows.find((each) => each.startsWith('|') && each.includes(`\`${name}\``));
      assert.ok(row?.includes(`\`npm test -- ${lane}\``), name);
    }
  }
});
