import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { renderIcons } from '../../scripts/generate-icons.ts';

const root = new URL('../../', import.meta.url);

test('the icons are those of the package: npx node scripts/generate-icons.ts copies them', () => {
  assert.equal(readFileSync(new URL('src/web/components/icons.ts', root), 'utf8'), renderIcons());
});

test('the fonts are those of the package', () => {
  for (const subset of ['latin', 'latin-ext']) {
    const packed = fileURLToPath(
      import.meta.resolve(`@fontsource-variable/geist/files/geist-${subset}-wght-normal.woff2`),
    );
    assert.deepEqual(readFileSync(new URL(`src/web/assets/geist-${subset}.woff2`, root)), readFileSync(packed), subset);
  }
});
