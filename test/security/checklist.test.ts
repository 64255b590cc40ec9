import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ITEMS } from './checklist.ts';
import { findClaims, resultOf } from './claims.ts';
import { renderPage, withoutResults } from './page.ts';

const claims = findClaims();
const claimed = new Set(claims.flatMap(({ ids }) => ids));

test('every mandatory item of the checklist has a test that carries its id', () => {
  const unproven = ITEMS.filter(({ id, isMandatory }) => isMandatory && !claimed.has(id));

  assert.ok(ITEMS.length > 110, String(ITEMS.length));
  assert.deepEqual(
    unproven.map(({ id, promise }) => `${id} ${promise}`),
    [],
  );
});

test('every id that a test carries is an item of the checklist, and no item is listed twice', () => {
  const ids = ITEMS.map(({ id }) => id);

  assert.deepEqual(
    [...claimed].filter((id) => !ids.includes(id)),
    [],
  );
  assert.equal(new Set(ids).size, ids.length);
});

test('the page about security lists exactly the items and tests that exist', () => {
  const page = readFileSync(new URL('../../docs/reference/security.md', import.meta.url), 'utf8');

  const [written, expected] = [page, renderPage(claims, () => 'not run')].map(withoutResults);

  assert.ok(written === expected, 'Run `npm run security-report`: docs/reference/security.md is not up to date.');
});

test('a claim passes only if every test that was run for it has passed', () => {
  const claim = { ids: ['A1'], file: 'test/a.test.ts', name: 'a cat of … eyes sleeps' };
  const ran = (name: string, isPassed = true) => ({ file: 'test/a.test.ts', name, isPassed });
  const one = `a cat of two eyes sleeps [${claim.ids[0]}]`;
  const other = `a cat of three eyes sleeps [${claim.ids[0]}]`;

  assert.equal(resultOf(claim, []), 'not run');
  assert.equal(resultOf(claim, [ran('a dog of two eyes sleeps'), ran(`a dog [${claim.ids[0]}]`)]), 'not run');
  assert.equal(resultOf(claim, [ran(one), ran(other)]), 'passes');
  assert.equal(resultOf(claim, [ran(one), ran(other, false)]), 'fails');
});
