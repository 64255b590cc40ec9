import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { toText } from '../../src/lib/html.ts';
import { renderMarkdown } from '../../src/web/reference/markdown.ts';
import { unescaped } from '../support/browser.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
const GUIDES = readdirSync(new URL('../../docs/guides/', import.meta.url)).map((file) => file.replace(/\.md$/, ''));

async function open(path: string) {
  const response = await fetch(server.api + path);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const linksOf = (text: string) => [...text.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href = '']) => unescaped(href));

test('every guide is served below /docs, and the list of guides and the reference link to it', async () => {
  const list = await open('/docs/guides');

  assert.ok(linksOf((await open('/docs')).text).includes('/docs/guides'));
  assert.deepEqual(
    linksOf(list.text)
      .filter((href) => /^\/docs\/guides\/[^#]+$/.test(href))
      .toSorted()
      .filter(unique),
    [...GUIDES.map((guide) => `/docs/guides/${guide}`).toSorted()],
  );
  for (const guide of GUIDES) {
    const { status, text } = await open(`/docs/guides/${guide}`);
    assert.equal(status, 200, guide);
    assert.match(text, /<h1 id="[\w-]+">/, guide);
  }
});

test('every link in the guides, and in the pages they link to, leads to an existing page and anchor', async () => {
  const pages = new Map<string, Awaited<ReturnType<typeof open>>>();
  const toVisit = ['/docs/guides', ...GUIDES.map((guide) => `/docs/guides/${guide}`)];
  for (let path = toVisit.shift(); path; path = toVisit.shift()) {
    if (pages.has(path)) continue;
    pages.set(path, await open(path));
    const links = linksOf(pages.get(path)?.text ?? '').filter((href) => href.startsWith('/docs/'));
    toVisit.push(...links.map((href) => href.replace(/#.*/, '')));
  }

  for (const [path, { status, text }] of pages) {
    assert.equal(status, 200, path);
    for (const href of linksOf(text)) {
      assert.match(href, /^(?:https?:\/\/|\/(?!\/)|#)/, `${path}: ${href}`);
      const [target = '', fragment] = href.split('#');
      const page = pages.get(target || path);
      if (fragment && page) assert.ok(page.text.includes(`id="${fragment}"`), `${path}: ${href}`);
    }
  }
  assert.ok(pages.size > GUIDES.length + 5, [...pages.keys()].join(' '));
});

test('the old address of a renamed guide redirects to the new one', async () => {
  const { status, headers } = await fetch(`${server.api}/docs/guides/decide-which-apps-come-in`, {
    redirect: 'manual',
  });

  assert.equal(status, 301);
  assert.equal(headers.get('location'), '/docs/guides/decide-which-apps-may-connect');
  assert.ok(GUIDES.includes('decide-which-apps-may-connect'));
});

test('a guide that does not exist is a 404, whatever its name', async () => {
  for (const name of ['nonsense', 'connect-your-app.md', '..%2f..%2fpackage.json', '%2e%2e', 'constructor']) {
    assert.equal((await open(`/docs/guides/${name}`)).status, 404, name);
  }
});

test('a guide contains no script and no style, and has the policy of every page', async () => {
  const { text, headers } = await open('/docs/guides/connect-your-app');

  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/);
  assert.doesNotMatch(text, /<script|<style|\sstyle=|\son\w+=/);
});

test('HTML in Markdown is shown as text, and a link to anything but our pages or the web is shown as text', () => {
  const source = [
    'a <b>bold</b> & `<i>` <img src=x onerror=alert(1)>',
    '<script>alert(1)</script>',
    '[run](javascript:alert(1)) [data](data:text/html,x) [there](other.md#place) [web](https://example.com/?a=1&b=2)',
    '```sh\necho "<b>"\n```',
    '# A `title` & more',
  ].join('\n\n');

  const text = toText(renderMarkdown(source, (href) => (href === 'other.md#place' ? '/docs/other#place' : undefined)));

  assert.doesNotMatch(text, /<(?:b|i|img|script)\b|href="(?:javascript|data)/);
  assert.match(text, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
  assert.match(
    text,
    /<a href="\/docs\/other#place">there<\/a> <a href="https:\/\/example.com\/\?a=1&amp;b=2">web<\/a>/,
  );
  assert.match(text, /<pre class="sample" tabindex="0"><code>echo &quot;&lt;b&gt;&quot;<\/code><\/pre>/);
  assert.match(text, /<h1 id="a-title--more">A <code>title<\/code> &amp; more<\/h1>/);
});

function unique(item: string, index: number, all: string[]): boolean {
  return all.indexOf(item) === index;
}
