import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ITEMS } from './checklist.ts';
import { applyTo, type Mutation } from './mutations/mutation.ts';
import { MUTATIONS } from './mutations/mutations.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('every mutation finds its text exactly once, and changes it', () => {
  const stale = MUTATIONS.flatMap((mutation) => {
    try {
      return applyTo(ROOT, mutation) === read(mutation.file) ? [`Changes nothing: ${mutation.breaks}`] : [];
    } catch (error) {
      return [String(error)];
    }
  });

  assert.deepEqual(stale, []);
});

test('a mutation whose text is gone, or occurs twice, is stale', () => {
  const [first] = MUTATIONS as [Mutation];

  assert.throws(() => applyTo(ROOT, { ...first, find: 'this text occurs nowhere' }), /^Error: Stale: .* 0 times/);
  assert.throws(() => applyTo(ROOT, { ...first, find: 'import ' }), /^Error: Stale: /);
});

test('every mutation breaks a promise of the checklist that its test files carry as a tag', () => {
  for (const { promise, tests, breaks } of MUTATIONS) {
    assert.ok(
      ITEMS.some(({ id }) => id === promise),
      promise,
    );
    assert.ok(tests.length > 0, breaks);
    for (const file of tests) assert.ok(read(file).includes(`[${promise}]`), `${file} has no test for ${promise}`);
  }
});

test('every promise is broken by at least one mutation', () => {
  const broken = new Set(MUTATIONS.map(({ promise }) => promise));

  assert.deepEqual(
    ITEMS.map(({ id }) => id).filter((id) => !broken.has(id)),
    [],
  );
});

function read(file: string): string {
  return readFileSync(`${ROOT}/${file}`, 'utf8');
}
