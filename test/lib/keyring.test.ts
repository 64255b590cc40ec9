import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createKeyring, decodeSigned, encodeSigned, sign, verifySignature } from '../../src/lib/keyring.ts';
import { anyText } from '../support/texts.ts';

const keys = createKeyring(['the first key']);
const values = fc.record({ text: anyText(), number: fc.integer() }, { noNullPrototype: true });

test('a signed value decodes unchanged', () => {
  fc.assert(
    fc.property(values, (value) => {
      assert.deepEqual(decodeSigned(keys, 'purpose', encodeSigned(keys, 'purpose', value)), value);
    }),
  );
});

test('a signed value does not decode if any character was changed', () => {
  fc.assert(
    fc.property(values, fc.nat(), fc.constantFrom(...'AZaz09-_.'), (value, index, character) => {
      const sealed = encodeSigned(keys, 'purpose', value);
      const at = index % sealed.length;
      fc.pre(sealed[at] !== character);
      assert.equal(decodeSigned(keys, 'purpose', sealed.slice(0, at) + character + sealed.slice(at + 1)), undefined);
    }),
    { numRuns: 500 },
  );
});

test('a value signed for one purpose does not decode for another', () => {
  const sealed = encodeSigned(keys, 'consent', { a: 1 });

  assert.equal(decodeSigned(keys, 'new app', sealed), undefined);
  assert.deepEqual(decodeSigned(keys, 'consent', sealed), { a: 1 });
});

test('decoding never throws, whatever the text', () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      assert.equal(decodeSigned(keys, 'purpose', text), undefined);
    }),
  );
  for (const text of ['', '.', '..', 'e30', 'e30.', '.e30'])
    assert.equal(decodeSigned(keys, 'purpose', text), undefined);
});

test('a signed value with anything appended does not decode', () => {
  const sealed = encodeSigned(keys, 'purpose', { a: 1 });

  assert.equal(decodeSigned(keys, 'purpose', `${sealed}.more`), undefined);
  assert.equal(decodeSigned(keys, 'purpose', `${sealed}=`), undefined);
});

test('the first key signs, and every key of the ring verifies', () => {
  const [older, both] = [createKeyring(['old']), createKeyring(['new', 'old'])];

  assert.equal(verifySignature(both, 'purpose', 'text', sign(older, 'purpose', 'text')), true);
  assert.equal(verifySignature(older, 'purpose', 'text', sign(both, 'purpose', 'text')), false);
  assert.equal(sign(both, 'purpose', 'text'), sign(createKeyring(['new']), 'purpose', 'text'));
});

test('a key has an id of four bytes and differs by purpose, and a keyring needs at least one key', () => {
  const [key] = keys.all;
  const text = Buffer.from('text');

  assert.equal(key?.id.length, 4);
  assert.equal(keys.find(Buffer.from(key?.id ?? [])), key);
  assert.equal(keys.find(Buffer.alloc(4)), undefined);
  assert.notDeepEqual(key?.mac('a', text), key?.mac('b', text));
  assert.throws(() => createKeyring([]));
});
