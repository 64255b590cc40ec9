import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../support/guides.ts';

const FOLDER = 'docs/pictures';
const pictures = readdirSync(join(ROOT, FOLDER)).filter((name) => /\.(png|webp)$/.test(name));
const pages = ['README.md', 'docs/tour.md'].map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
const named = pages.flatMap(({ path, text }) => picturesOf(text).map((target) => join(dirname(path), target)));

/** As Markdown or HTML names them. */
function picturesOf(text: string): string[] {
  return [...text.matchAll(/(?:src|srcset)="([^"]+)"|!\[[^\]]*\]\(([^)]+)\)/g)].map(
    (match) => match[1] ?? match[2] ?? '',
  );
}

function darkVariant(name: string): string {
  return name.includes('-light.') ? name.replace('-light.', '-dark.') : name.replace(/\.(\w+)$/, '-dark.$1');
}

test('every picture that the README and the tour name exists, and has a dark variant', () => {
  assert.ok(named.length > 30, String(named.length));
  const wanted = named.flatMap((path) => (path.includes('-dark.') ? [path] : [path, darkVariant(path)]));

  const missing = wanted.filter((path) => !pictures.some((name) => join(FOLDER, name) === path));

  assert.deepEqual(missing, []);
});

test('the tour shows each picture in the theme of its reader, and describes it', () => {
  const [tour] = pages.filter(({ path }) => path === 'docs/tour.md');
  const elements = tour?.text.match(/<picture>.*?<\/picture>/gs) ?? [];

  const wrong = elements.filter((element) => {
    const [, shown = '', alt = ''] = /<img src="([^"]+)"[^>]* alt="([^"]+)"/.exec(element) ?? [];
    const dark = `<source media="(prefers-color-scheme: dark)" srcset="${darkVariant(shown)}">`;
    return !element.includes(dark) || alt.length < 10;
  });

  assert.deepEqual(wrong, []);
  assert.equal(elements.length, tour?.text.match(/<img /g)?.length);
});

test('the README or the tour uses every picture in docs/pictures', () => {
  // A test of the components compares these.
  const others = pictures.filter((name) => !name.startsWith('gallery-'));

  assert.deepEqual(
    others.filter((name) => !named.includes(join(FOLDER, name))),
    [],
  );
});

test('the film has at most 1.5 MB in each theme, and all pictures together have at most 6 MB', () => {
  const sizeOf = (name: string) => statSync(join(ROOT, FOLDER, name)).size;

  for (const film of ['film.webp', 'film-dark.webp']) assert.ok(sizeOf(film) <= 1_500_000, `${film}: ${sizeOf(film)}`);
  const total = pictures.reduce((sum, name) => sum + sizeOf(name), 0);
  assert.ok(total <= 6_000_000, String(total));
});
