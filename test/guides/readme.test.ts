import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');

test('the first sentence of the README says what Gatehouse is and for whom', () => {
  const [, sentence = ''] = /^# Gatehouse\n\n(.+?\.)(?: |\n)[A-Z]/s.exec(readme) ?? [];

  assert.match(sentence.replaceAll('\n', ' '), /OAuth 2\.0 authorization server for multi-tenant business platforms/);
  for (const part of ['sign-in', 'consent', 'developer dashboard', 'webhooks'])
    assert.ok(sentence.includes(part), part);
});

test('the README shows it, then its promises, how to start it, a comparison, and last when not to use it', () => {
  const parts = ['film.webp', '## Three promises', 'npm start\nnpm test\n', '| Ory Hydra |', '## When not to use it'];
  const offsets = parts.map((part) => readme.indexOf(part));

  assert.ok(!offsets.includes(-1), offsets.join());
  assert.deepEqual(
    offsets,
    offsets.toSorted((a, b) => a - b),
  );
  assert.ok(readme.split(/\s+/).length <= 900);
  const [header = ''] = readme.split('\n').filter((line) => line.includes('| Ory Hydra |'));
  for (const name of ['Gatehouse', 'Keycloak', 'oidc-provider']) assert.ok(header.includes(name), name);
});

test('every link from one page of the repository to another leads somewhere', () => {
  const pages = globSync(['*.md', 'docs/**/*.md', 'sdk/*/README.md'], { cwd: ROOT });
  assert.ok(pages.length > 30, String(pages.length));

  const broken = pages.flatMap((page) => {
    // Code contains no links.
    const text = readFileSync(join(ROOT, page), 'utf8')
      .replaceAll(/^```.*?^```$/gms, '')
      .replaceAll(/`[^`\n]*`/g, '`');
    return [...text.matchAll(/\]\((?!https?:)([^)\s#]+)(?:#[^)\s]*)?\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !existsSync(join(ROOT, dirname(page), target)))
      .map((target) => `${page}: ${target}`);
  });
  assert.deepEqual(broken, []);
});
