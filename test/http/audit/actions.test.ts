import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ACTION_GROUPS, ACTIONS } from '../../../src/audit/entries.ts';

const DECLARATION = 'src/audit/entries.ts';
const sources = globSync('src/**/*.ts')
  .filter((file) => file !== DECLARATION)
  .map((file) => readFileSync(file, 'utf8'));

test('the server uses every declared audit action, and each belongs to a group', () => {
  const unused = Object.keys(ACTIONS).filter((action) => !sources.some((text) => text.includes(`'${action}'`)));
  const groups = new Set(Object.keys(ACTIONS).map((action) => action.split('.')[0]));

  assert.deepEqual(unused, []);
  assert.deepEqual([...groups].toSorted(), Object.keys(ACTION_GROUPS).toSorted());
});
