import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { reportLeaks } from '../support/leak-report.ts';
import { createSecretSearch } from '../support/secret-search.ts';

const TOKEN = `gat_${randomBytes(60).toString('base64url')}`;
const PASSWORD = 'a phrase of several words, & more';
const search = createSecretSearch();
for (let i = 0; i < 5000; i++) search.add({ kind: 'cookie', text: randomBytes(32).toString('base64url') });
search.add({ kind: 'token', text: TOKEN });
search.add({ kind: 'password', text: PASSWORD });

const body = TOKEN.slice(4);
const WAYS: [form: string, hidden: string | Buffer][] = [
  ['as it is', TOKEN],
  ['without its prefix', body],
  ['within a longer word', `x${body}x`],
  ['in a header', `Bearer ${TOKEN}`],
  ['in base64', btoa(TOKEN)],
  ['in base64 at the front of more', btoa(`${TOKEN}:more`)],
  ['in hexadecimal', Buffer.from(TOKEN).toString('hex')],
  ['as decoded bytes', Buffer.from(body, 'base64url')],
  ['as those bytes in hexadecimal', Buffer.from(body, 'base64url').toString('hex')],
];
const around = (hidden: string | Buffer) =>
  Buffer.concat([randomBytes(3000), Buffer.from(hidden), randomBytes(3000), Buffer.from('the end')]);

for (const [form, hidden] of WAYS) {
  test(`a secret is found among 5,000 search terms, ${form} [X4]`, () => {
    assert.deepEqual(
      search.find(around(hidden)).map(({ kind }) => kind),
      ['token'],
    );
  });
}

test('a password is found as it was typed, in an address and in a form [X4]', () => {
  for (const hidden of [PASSWORD, encodeURIComponent(PASSWORD), String(new URLSearchParams({ p: PASSWORD }))]) {
    assert.deepEqual(
      search.find(around(hidden)).map(({ kind }) => kind),
      ['password'],
      hidden,
    );
  }
});

test('a missing secret is not found, nor text with the same beginning', () => {
  assert.deepEqual(search.find(randomBytes(1_000_000)), []);
  assert.deepEqual(search.find(around(TOKEN.slice(0, -1))), []);
  assert.deepEqual(search.find(Buffer.alloc(0)), []);
});

test('a secret that one process has seen is found in the log of another, and fails the run [X4]', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
  const keep = (name: string, text: string) => writeFileSync(join(folder, name), text);
  keep('secrets-1.jsonl', `${JSON.stringify({ kind: 'token', text: TOKEN })}\n`);
  keep('log-1', '{"level":30,"route":"/"}\n');
  const clean = reportLeaks(folder);
  keep('log-2', `{"level":30,"url":"/?token=${TOKEN}"}\n`);
  const leaking = reportLeaks(folder);
  rmSync(folder, { recursive: true });

  assert.deepEqual([clean, leaking], [0, 1]);
});
