import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashPassword, isCommonPassword, isPassword } from '../../src/lib/passwords.ts';

test('a password is kept as argon2id with its cost and a salt of its own [S14]', async () => {
  const [one, two] = [await hashPassword('correct horse'), await hashPassword('correct horse')];

  assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w-]{22}\$[\w-]{43}$/);
  assert.notEqual(one, two);
  assert.equal(await isPassword('correct horse', one), true);
  assert.equal(await isPassword('correct horse', two), true);
});

test('a password that differs anywhere is wrong, and spaces and letters count [S13]', async () => {
  const stored = await hashPassword('Correct horse ');

  for (const other of ['Correct horse', 'correct horse ', ' Correct horse ', 'Correct horse  ', '']) {
    assert.equal(await isPassword(other, stored), false, other);
  }
});

test('nothing is cut off: the last of a thousand characters counts, and so does what follows a NUL [S13]', async () => {
  const long = 'x'.repeat(1000);
  const stored = await hashPassword(long);
  const withNul = await hashPassword('before\u0000after');

  assert.equal(await isPassword(long, stored), true);
  assert.equal(await isPassword(`${long.slice(1)}y`, stored), false);
  assert.equal(await isPassword(long.slice(1), stored), false);
  assert.equal(await isPassword('before\u0000other', withNul), false);
});

test('any Unicode is a password, and one password however a keyboard composes it [S13]', async () => {
  const stored = await hashPassword('caf\u00e9 \u{1f40e} \u65e5\u672c');

  assert.equal(await isPassword('cafe\u0301 \u{1f40e} \u65e5\u672c', stored), true);
  assert.equal(await isPassword('cafe \u{1f40e} \u65e5\u672c', stored), false);
});

test('nobody has a password: without a stored one every answer is no', async () => {
  assert.equal(await isPassword('anything', undefined), false);
  assert.equal(await isPassword('', undefined), false);
});

test('a hash of a lower cost than today’s is still understood', async () => {
  const cheap = '$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

  assert.equal(await isPassword('anything', cheap), false);
});

test('the passwords that attackers try first are known, in any letters [S13]', async () => {
  for (const password of ['password', 'PASSWORD1', 'iloveyou', 'qwertyuiop']) {
    assert.equal(await isCommonPassword(password), true, password);
  }
  assert.equal(await isCommonPassword('correct horse battery'), false);
});
