import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../support/guides.ts';

test('every guide has a test that runs it', () => {
  const guides = readdirSync(join(ROOT, 'docs/guides')).map((file) => file.replace(/\.md$/, ''));

  assert.ok(guides.length >= 5);
  assert.deepEqual(
    guides.filter((name) => !existsSync(join(ROOT, `test/guides/${name}.test.ts`))),
    [],
  );
});
