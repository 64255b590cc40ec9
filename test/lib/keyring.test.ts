import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createKeyring, isSigned, seal, sign, unseal } from '../../src/lib/keyring.ts';

const keys = createKeyring(['the first key']);
const values = fc.record({ text: fc.string({ unit: 'grapheme' }), number: fc.integer() }, { noNullPrototype: true });

test('what is sealed comes back unchanged', () => {
  fc.assert(
    fc.property(values, (value) => {
      assert.deepEqual(unseal(keys, 'purpose', seal(keys, 'purpose', value)), value);
    }),
  );
});

test('a seal in which any character was changed does not open', () => {
  fc.assert(
    fc.property(values, fc.nat(), fc.constantFrom(...'AZaz09-_.'), (value, place, character) => {
      const sealed = seal(keys, 'purpose', value);
      const at = place % sealed.length;
      fc.pre(sealed[at] !== character);
      assert.equal(unseal(keys, 'purpose', sealed.slice(0, at) + character + sealed.slice(at + 1)), undefined);
    }),
    { numRuns: 500 },
  );
});

test('a seal made for one purpose opens for no other', () => {
  const sealed = seal(keys, 'consent', { a: 1 });

  assert.equal(unseal(keys, 'new app', sealed), undefined);
  assert.deepEqual(unseal(keys, 'consent', sealed), { a: 1 });
});

test('no text at all makes opening a seal fail with anything but a refusal', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.equal(unseal(keys, 'purpose', text), undefined);
    }),
  );
  for (const text of ['', '.', '..', 'e30', 'e30.', '.e30']) assert.equal(unseal(keys, 'purpose', text), undefined);
});

test('a seal with more behind it does not open', () => {
  const sealed = seal(keys, 'purpose', { a: 1 });

  assert.equal(unseal(keys, 'purpose', `${sealed}.more`), undefined);
  assert.equal(unseal(keys, 'purpose', `${sealed}=`), undefined);
});

test('a signature holds under every key of the ring, and the first one makes it', () => {
  const [older, both] = [createKeyring(['old']), createKeyring(['new', 'old'])];

  assert.equal(isSigned(both, 'purpose', 'text', sign(older, 'purpose', 'text')), true);
  assert.equal(isSigned(older, 'purpose', 'text', sign(both, 'purpose', 'text')), false);
  assert.equal(sign(both, 'purpose', 'text'), sign(createKeyring(['new']), 'purpose', 'text'));
});

test('a key is named by four bytes, differs by purpose, and a ring without keys cannot be', () => {
  const [key] = keys.all;
  const text = Buffer.from('text');

  assert.equal(key?.id.length, 4);
  assert.equal(keys.find(Buffer.from(key?.id ?? [])), key);
  assert.equal(keys.find(Buffer.alloc(4)), undefined);
  assert.notEqual(key?.mac('a', text), key?.mac('b', text));
  assert.throws(() => createKeyring([]));
});
