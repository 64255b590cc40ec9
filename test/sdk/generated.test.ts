import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { generateSdk } from '../../sdk/generator/generate.ts';
import { SCOPES } from '../support/scopes.ts';

const root = new URL('../../', import.meta.url);

test('the types and methods of both libraries are those of the declared resources: npm run generate:sdk', () => {
  for (const [path, text] of Object.entries(generateSdk())) {
    assert.equal(readFileSync(new URL(path, root), 'utf8'), text, path);
  }
});

test('the scopes of the Python library are those of the server', () => {
  const names = readFileSync(new URL('sdk/python/src/gatehouse_client/names.py', root), 'utf8');
  const [, scopes = ''] = /^Scope = Literal\[(.*?)\]/ms.exec(names) ?? [];

  assert.deepEqual(
    [...scopes.matchAll(/"([^"]+)"/g)].map(([, name]) => name),
    SCOPES,
  );
});
