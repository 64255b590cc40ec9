import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { errorUri, REASONS } from '../../src/http/errors.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
const REASONS_OF: Record<string, readonly string[]> = REASONS;

interface Page {
  status: number;
  type: string;
  text: string;
}

async function open(url: string): Promise<Page> {
  const response = await fetch(url);
  return { status: response.status, type: response.headers.get('content-type') ?? '', text: await response.text() };
}

function idsOf({ text }: Page): string[] {
  return [...text.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id);
}

for (const [code, reasons] of Object.entries(REASONS_OF)) {
  test(`the error_uri of ${code} opens a page with a section for each of its reasons`, async () => {
    const [page] = await Promise.all(reasons.map((reason) => open(errorUri(server.api, code, reason))));
    assert.ok(page);
    const remedies = [...page.text.matchAll(/<div id="([^"]+)"><dt>.*?<\/dt><dd>(.*?)<\/dd>/gs)];

    assert.equal(page.status, 200);
    assert.match(page.type, /^text\/html/);
    assert.match(page.text, new RegExp(`<h1><code>${code}</code></h1>`));
    assert.deepEqual(
      remedies.map(([, reason]) => reason),
      [...reasons],
    );
    for (const [, reason, remedy = ''] of remedies) assert.match(remedy, /\S{3}/, `${reason}`);
    assert.equal(new Set(idsOf(page)).size, idsOf(page).length, 'no id occurs twice');
  });
}

test('the list of errors links to the page of each', async () => {
  const { status, text } = await open(`${server.api}/docs/errors`);
  const listed = [...text.matchAll(/<dt><a href="\/docs\/errors\/([^"#]+)">/g)].map(([, code]) => code);

  assert.equal(status, 200);
  assert.deepEqual(listed.sort(), Object.keys(REASONS_OF).sort());
});

test('an unknown error code has a page that says so, even if its name has a meaning in JavaScript', async () => {
  for (const code of [
    'invalid_software_statement',
    'INVALID_GRANT',
    '__proto__',
    'constructor',
    'toString',
    '%00',
    '<b>',
  ]) {
    const page = await open(`${server.api}/docs/errors/${encodeURI(code)}`);

    assert.equal(page.status, 404, code);
    assert.match(page.type, /^text\/html/);
    assert.match(page.text, /<h1>Page not found<\/h1>/);
  }
});

const guide = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8');

/** The rows of a table in Markdown, each as its cells. */
function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('|-'))
    .slice(1)
    .map((line) => line.split('|').slice(1, -1));
}

const namesIn = (cell = '') => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);

test('the guide to errors names every error with each of its reasons, and no other', () => {
  const [overview = '', ...sections] = guide.split(/^### /m);
  const named = sections.map((section) => [
    namesIn(section.split('\n')[0]).join(),
    rowsOf(section).flatMap(([reason]) => namesIn(reason)),
  ]);

  assert.deepEqual(Object.fromEntries(named), REASONS_OF);
  assert.deepEqual(
    rowsOf(overview)
      .flatMap(([error]) => namesIn(error))
      .sort(),
    Object.keys(REASONS_OF).sort(),
  );
});

test('the guide to errors and the error pages describe each reason in the same words', async () => {
  const [, ...sections] = guide.split(/^### /m);
  const inGuide = sections.map((section) =>
    rowsOf(section).map((row) => row.map((cell) => cell.replaceAll('`', '').trim())),
  );

  for (const [index, code] of Object.keys(REASONS_OF).entries()) {
    const { text } = await open(`${server.api}/docs/errors/${code}`);
    const onPage = [...text.matchAll(/<dt><code>(.*?)<\/code><\/dt><dd>(.*?)<\/dd>/gs)].map(
      ([, reason = '', remedy = '']) => [reason, wordsOf(remedy)],
    );
    assert.deepEqual(inGuide[index], onPage, code);
  }
});

function wordsOf(markup: string): string {
  const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };
  return markup.replace(/<\/?code>/g, '').replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? '');
}
