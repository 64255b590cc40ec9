import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addUser } from '../../../src/accounts/joining.ts';
import { authenticateUser, hashNewPassword } from '../../../src/accounts/passwords.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { FormError } from '../../../src/lib/errors.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const db = server.storage().durable;
let count = 0;

function add(password: string) {
  const email = `user${++count}@example.com`;
  return addUser(OPERATOR, db, { email, name: 'User', password, isPlatformAdmin: false }, server.clock());
}

const GOOD: [what: string, password: string][] = [
  ['8 characters', 'k3#qVz!p'],
  ['64 characters', 'ab cd 12'.repeat(8)],
  ['1,024 characters', 'ab cd 12'.repeat(128)],
  ['spaces in front and behind', '  a good password  '],
  ['another script', 'пароль для входа'],
  ['eight emoji, each of which is two units of UTF-16', '🦊🐙🦉🐝🦔🐢🦜🐳'],
  ['quotes, backslashes and a NUL', `'";--\\ \u0000 %00`],
];

for (const [what, password] of GOOD) {
  test(`a password of ${what} signs in through the form [S13]`, async () => {
    const { email } = await add(password);

    const page = await server.browse().signIn(email, password);

    assert.equal(page.status, 200);
    assert.equal(page.url, `${server.web}/settings/connected-apps`);
  });
}

test('every character of a long password counts [S13]', async () => {
  const long = 'ab cd 12'.repeat(128);
  const { email } = await add(long);

  for (const other of [long.slice(0, -1), `${long}x`, `${long.slice(0, -1)}x`, long.slice(0, 72), long.toUpperCase()]) {
    assert.equal(await authenticateUser(db, email, other), undefined);
  }
  assert.ok(await authenticateUser(db, email, long));
});

test('a space around a password counts [S13]', async () => {
  const { email } = await add(' a good password ');

  assert.equal(await authenticateUser(db, email, 'a good password'), undefined);
});

test('an accented letter is the same in both ways in which a keyboard may send it [S13]', async () => {
  const { email } = await add('caf\u00e9 au lait');

  assert.ok(await authenticateUser(db, email, 'cafe\u0301 au lait'));
});

const BAD: [what: string, password: string, sentence: RegExp][] = [
  ['nothing', '', /at least 8 characters/],
  ['7 characters', 'k3#qVz!', /at least 8 characters/],
  ['seven emoji, though they are 14 units of UTF-16', '🦊🐙🦉🐝🦔🐢🦜', /at least 8 characters/],
  ['1,025 characters', 'a password'.repeat(102).padEnd(1025, '!'), /at most 1,024 characters/],
  ['what everybody uses', 'password', /attackers try first/],
  ['what everybody uses, in capitals', 'PassWord1', /attackers try first/],
  ['a row of the keyboard', 'qwertyuiop', /attackers try first/],
  ['digits in order', '123456789', /attackers try first/],
  ['a name that is often used', 'superman', /attackers try first/],
];

for (const [what, password, sentence] of BAD) {
  test(`a password of ${what} is rejected, with the reason [S13]`, async () => {
    await assert.rejects(add(password), (error) => {
      assert.ok(error instanceof FormError);
      assert.equal(error.field, 'password');
      assert.match(error.message, sentence);
      return true;
    });
  });
}

test('the email address is not accepted as a password, in any case [S13]', async () => {
  const user = await add('a good password');

  await assert.rejects(hashNewPassword(user, user.email.toUpperCase()), /other than the email/);
});

test('no rule requires capitals, digits or symbols [S13]', async () => {
  assert.ok(await add('correct horse battery staple'));
});
