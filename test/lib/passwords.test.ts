import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashPassword, isCommonPassword, verifyPassword } from '../../src/lib/passwords.ts';

test('a password is stored as argon2id with its cost and its own salt [S14]', async () => {
  const [one, two] = [await hashPassword('correct horse'), await hashPassword('correct horse')];

  assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w-]{22}\$[\w-]{43}$/);
  assert.notEqual(one, two);
  assert.equal(await verifyPassword('correct horse', one), true);
  assert.equal(await verifyPassword('correct horse', two), true);
});

test('a password that differs anywhere is wrong, including spaces and case [S13]', async () => {
  const stored = await hashPassword('Correct horse ');

  for (const other of ['Correct horse', 'correct horse ', ' Correct horse ', 'Correct horse  ', '']) {
    assert.equal(await verifyPassword(other, stored), false, other);
  }
});

test('passwords are not truncated: the last of a thousand characters counts, and so do those after a NUL [S13]', async () => {
  const long = 'x'.repeat(1000);
  const stored = await hashPassword(long);
  const withNul = await hashPassword('before\u0000after');

  assert.equal(await verifyPassword(long, stored), true);
  assert.equal(await verifyPassword(`${long.slice(1)}y`, stored), false);
  assert.equal(await verifyPassword(long.slice(1), stored), false);
  assert.equal(await verifyPassword('before\u0000other', withNul), false);
});

test('a password may be any Unicode, and its composed and decomposed forms are equal [S13]', async () => {
  const stored = await hashPassword('caf\u00e9 \u{1f40e} \u65e5\u672c');

  assert.equal(await verifyPassword('cafe\u0301 \u{1f40e} \u65e5\u672c', stored), true);
  assert.equal(await verifyPassword('cafe \u{1f40e} \u65e5\u672c', stored), false);
});

test('without a stored hash no password is right', async () => {
  assert.equal(await verifyPassword('anything', undefined), false);
  assert.equal(await verifyPassword('', undefined), false);
});

test('a hash with a lower cost still verifies', async () => {
  const cheap = '$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

  assert.equal(await verifyPassword('anything', cheap), false);
});

test('the most common passwords are recognised, in upper or lower case [S13]', async () => {
  for (const password of ['password', 'PASSWORD1', 'iloveyou', 'qwertyuiop']) {
    assert.equal(await isCommonPassword(password), true, password);
  }
  assert.equal(await isCommonPassword('correct horse battery'), false);
});
