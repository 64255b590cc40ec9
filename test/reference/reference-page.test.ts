import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listOperations } from '../../src/web/reference/document.ts';
import { startTestServer } from '../support/test-server.ts';
import { assertNone, fetchDocument } from './document.ts';

const server = await startTestServer();
const document = await fetchDocument(server.api);
const GROUPS = document.tags.map(({ name }) => `/docs/${name.toLowerCase().replaceAll(' ', '-')}`);
const page = await fetch(`${server.api}/docs`);
const texts = new Map([['/docs', await page.text()]]);
for (const path of GROUPS) texts.set(path, await (await fetch(server.api + path)).text());
/** All of its pages. */
const text = [...texts.values()].join('\n');

const all = (pattern: RegExp, within = text) => [...within.matchAll(pattern)].map(([, found = '']) => found);

/** What the page shows of one operation, or of one shape. */
function sectionOf(id: string): string {
  const [, section] = new RegExp(`<section class="card" id="${id}">(.*?)</section>`, 's').exec(text) ?? [];
  assert.ok(section, id);
  return section;
}

/** Errors that the operations of a page share. */
function commonErrorsOn(path: string): string {
  const [, section] = /<section class="card" id="errors">(.*?)<\/section>/s.exec(texts.get(path) ?? '') ?? [];
  assert.ok(section, path);
  return section;
}

test('the reference is a handful of small pages, and an unknown group is a 404', async () => {
  assert.equal(page.status, 200);
  for (const [path, each] of texts)
    assert.ok(each.length < 64 * 1024 && each.includes('<h1>'), `${path} ${each.length}`);
  assert.equal((await fetch(`${server.api}/docs/nowhere`)).status, 404);
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
});

for (const { operationId, method, path, summary, parameters = [], responses } of listOperations(document)) {
  test(`the reference shows ${operationId}: its path, its parameters and every response`, () => {
    const section = sectionOf(operationId);

    assert.ok(section.includes(`<h2 class="tag">${summary}</h2>`));
    assert.ok(section.includes(`<span class="method">${method}</span> <code>${path}</code>`));
    assert.deepEqual(all(/<span class="status">(\d+)<\/span>/g, section), Object.keys(responses));
    for (const { name } of parameters) assert.ok(section.includes(`<code>${name}</code>`), name);
    const [home] = [...texts].find(([, each]) => each.includes(section)) ?? [];
    for (const each of texts.values()) assert.ok(each.includes(`<a href="${home}#${operationId}">`), 'all lead to it');
    assert.ok(texts.get('/docs')?.includes(`<li id="${operationId}">`), 'an old address is one step from it');
  });

  test(`the reference shows every error reason of ${operationId}`, () => {
    const own = sectionOf(operationId);
    const [home = ''] = [...texts].find(([, each]) => each.includes(own)) ?? [];
    const section = own + (own.includes(`href="${home}#errors"`) ? commonErrorsOn(home) : '');
    for (const [status, { content }] of Object.entries(responses)) {
      for (const reason of Object.values(content?.['application/json']?.['x-reasons'] ?? {}).flat()) {
        assert.match(section, new RegExp(`href="/docs/errors/\\w+#${reason}"`), `${status} ${reason}`);
      }
    }
  });
}

test('the reference shows every field of every body and schema', () => {
  for (const { operationId, requestBody } of listOperations(document)) {
    const { properties = {} } = requestBody?.content['application/json']?.schema ?? {};
    for (const name of Object.keys(properties))
      assert.ok(sectionOf(operationId).includes(`<code>${name}</code>`), name);
  }
  for (const [shape, { properties = {} }] of Object.entries(document.components.schemas)) {
    for (const name of Object.keys(properties)) {
      assert.ok(sectionOf(`shape-${shape}`).includes(`<code>${name}</code>`), `${shape} ${name}`);
    }
  }
});

test('the reference runs no script and loads nothing from other hosts', () => {
  assert.doesNotMatch(text, /<script|<iframe|<style|<object|<embed|<base|<form|\son\w+=|javascript:|@import|url\(/i);
  assertNone(
    all(/(?:src|href|action|srcset|poster)="([^"]*)"/g).filter((address) => !/^(?:#|\/(?!\/))/.test(address)),
    'These addresses lead elsewhere',
  );
  assert.match(
    page.headers.get('content-security-policy') ?? '',
    /^default-src 'none'; style-src 'self'; img-src 'self'/,
  );
});

test('its samples name no real host but the server’s own', () => {
  const hosts = all(/https?:\/\/([^/"'`<>\s&]+)/g);
  const own = new URL(server.api).host;

  assert.ok(hosts.includes(own));
  assertNone(
    hosts.filter((host) => host !== own && !/^(?:(?:\w+\.)?example\.com|app\.example)$/.test(host)),
    'These hosts are neither ours nor examples',
  );
});

test('every link of the reference leads to an existing page and anchor', async () => {
  const pages = new Map([['', texts.get('/docs')], ...texts]);
  for (const link of new Set(all(/<a [^>]*href="([^"]+)"/g))) {
    const [path = '', place] = link.split('#');
    if (!pages.has(path)) {
      const answer = await fetch(server.api + path);
      assert.equal(answer.status, 200, link);
      pages.set(path, await answer.text());
    }
    if (place !== undefined) assert.match(pages.get(path) ?? '', new RegExp(` id="${place}"`), link);
  }
});

test('every anchor of the reference is unique', () => {
  for (const [path, each] of texts) {
    const ids = all(/ id="([^"]+)"/g, each);
    assert.equal(new Set(ids).size, ids.length, path);
  }
});
