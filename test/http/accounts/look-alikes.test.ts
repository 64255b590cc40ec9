import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addUser } from '../../../src/accounts/joining.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { FormError } from '../../../src/lib/errors.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const db = server.storage().durable;
const add = (email: string) =>
  addUser(OPERATOR, db, { email, name: 'X', password: PASSWORD, isPlatformAdmin: false }, server.clock());

async function assertRejected(email: string, sentence: RegExp): Promise<void> {
  await assert.rejects(add(email), (error) => {
    assert.ok(error instanceof FormError, String(error));
    assert.equal(error.field, 'email');
    assert.match(error.message, sentence);
    return true;
  });
}

const INVISIBLE: Record<string, string> = {
  'a zero-width space': 'vera\u200b@example.com',
  'a zero-width joiner': 've\u200dra@example.com',
  'a soft hyphen': 've\u00adra@example.com',
  'a right-to-left override': '\u202evera@example.com',
  'an isolate': 'vera\u2066@example.com',
  'a variation selector': 'vera\ufe0f@example.com',
  'a Hangul filler': 'vera\u3164@example.com',
  'a blank Braille pattern': 'vera\u2800@example.com',
  'a tag character': 'vera\u{e0041}@example.com',
  'a word joiner in the domain': 'vera@exam\u2060ple.com',
  'five marks on one letter': `ver\u0301\u0302\u0303\u0304\u0306a@example.com`,
};

for (const [what, email] of Object.entries(INVISIBLE)) {
  test(`an email address with ${what} is rejected [E3]`, async () => {
    await assertRejected(email, /Use visible characters only\./);
  });
}

test('an email address in other widths, alphabets or encodings than another user’s is that user’s [E3]', async () => {
  await add('paul@example.com');
  await add('coop@example.com');
  await add('b\u00fccher@b\u00fccher.example');

  for (const email of [
    'ｐａｕｌ@example.com',
    'paul＠example.com',
    'paul@example．com',
    '𝐩𝐚𝐮𝐥@example.com',
    'pau\u2113@example.com',
    '\u0441\u043e\u043e\u0440@example.com', // Cyrillic
    'BU\u0308CHER@b\u00fccher.example.',
    'b\u00fccher@xn--bcher-kva.example',
  ]) {
    await assertRejected(email, /There is already a user with this email address, or with one that looks like it\./);
  }
});

test('an email address that mixes Latin letters with those of another alphabet is rejected [E3]', async () => {
  for (const email of [
    'm\u0430ry@example.com',
    'mar\u03b3@example.com',
    'mary@ex\u0430mple.com',
    'mary\u0660@example.com',
  ]) {
    await assertRejected(email, /Use letters of one alphabet only\./);
  }
});

test('addresses that people can tell apart are different accounts', async () => {
  const accented = ['rene@example.org', 'ren\u00e9@example.org', '\u017c\u00f3\u0142\u0107@example.org'];
  const ascii = ['user1@example.org', 'userl@example.org', 'modern@example.org', 'modem@example.org'];
  for (const email of [...accented, ...ascii, 'иван@example.org', '田中taro@example.org']) {
    assert.equal((await add(email)).email, email);
  }
});

test('a person signs in with their address in any width or case', async () => {
  await add('Wide@Example.com');
  const browser = server.browse();

  const response = await browser.signIn('ＷＩＤＥ＠example.com', PASSWORD);

  assert.equal(response.url, `${server.web}/settings/connected-apps`);
});
