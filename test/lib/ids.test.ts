import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { derivedId, idToBytes, isId, newId, readId } from '../../src/lib/ids.ts';

const NOW = Date.UTC(2030, 0, 1);

test('an id is a UUIDv7 that begins with its time', () => {
  const id = newId(NOW);

  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(Number.parseInt(id.replace('-', '').slice(0, 12), 16), NOW);
  assert.equal(isId(id), true);
});

test('a derived id is a UUIDv8, the same for the same text', () => {
  const [one, again, other] = ['https://a.example/client', 'https://a.example/client', 'https://b.example/'].map(
    derivedId,
  );

  assert.match(one ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(one, again);
  assert.notEqual(one, other);
});

test('a later id sorts after an earlier one, even within one millisecond', () => {
  const ids = [NOW, NOW + 1, NOW + 2, NOW + 1000].flatMap((now) => Array.from({ length: 20_000 }, () => newId(now)));

  assert.deepEqual(ids.toSorted(), ids);
  assert.equal(new Set(ids).size, ids.length);
});

test('ids of one millisecond keep their order, even with ids of other times in between', () => {
  const ids = Array.from({ length: 50 }, () => {
    newId(NOW + 5000);
    return newId(NOW + 4000);
  });

  assert.deepEqual(ids.toSorted(), ids);
});

test('the random bits of two ids of one millisecond are independent', () => {
  const tails = Array.from({ length: 200 }, () => newId(NOW).slice(-12));

  assert.equal(new Set(tails).size, tails.length);
});

test('an id converts to 16 bytes and back', () => {
  fc.assert(
    fc.property(fc.uuid(), (id) => {
      assert.equal(idToBytes(id).length, 16);
      assert.equal(readId(idToBytes(id)), id);
    }),
  );
});

test('only a UUID in lower case is an id', () => {
  const id = newId(NOW);

  for (const text of [
    '',
    id.toUpperCase(),
    id.slice(1),
    `${id}0`,
    `${id}\n`,
    ` ${id}`,
    id.replaceAll('-', ''),
    `{${id}}`,
    id.replace(/.$/, 'g'),
  ]) {
    assert.equal(isId(text), false, text);
  }
});
