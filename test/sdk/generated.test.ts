import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateSdk } from '../../sdk/generator/generate.ts';

const root = new URL('../../', import.meta.url);

test('the types and methods of both libraries are those of the declared resources: npm run generate:sdk', () => {
  for (const [path, text] of Object.entries(generateSdk())) {
    assert.equal(readFileSync(new URL(path, root), 'utf8'), text, path);
  }
});
