import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Grant } from '../../../src/grants/grants.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import {
  decodeToken,
  encodeToken,
  kindOf,
  type Token,
  type TokenKind,
  verifyToken,
} from '../../../src/oauth/tokens.ts';
import { anyText } from '../../support/texts.ts';

const KINDS: TokenKind[] = ['access', 'refresh', 'code'];
const PREFIXES = { access: 'gat_', refresh: 'grt_', code: 'gac_' };
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const keys = createKeyring(['a key of the tests', 'an older key of the tests']);
const stranger = createKeyring(['a key of someone else']);

const uint32 = fc.integer({ min: 0, max: 0xffffffff });
const salts = fc.uint8Array({ minLength: 16, maxLength: 16 });
/** Four bytes and any multiple of three more. */
const scopeBits = fc
  .nat({ max: 3 })
  .chain((more) => fc.uint8Array({ minLength: 4 + 3 * more, maxLength: 4 + 3 * more }));
const tokens: fc.Arbitrary<Token> = fc.record(
  {
    kind: fc.constantFrom(...KINDS),
    grantId: fc.uuid(),
    rotation: uint32,
    expiresAt: uint32.map((seconds) => seconds * 1000),
    scopeBits,
  },
  { noNullPrototype: true },
);

/** Decodes and verifies a token, as the endpoints do. */
function accept(ring: typeof keys, kind: TokenKind, text: string, salt: Uint8Array): Token | undefined {
  const opened = decodeToken(ring, kind, text);
  if (!opened || !verifyToken(opened, { salt } as Grant)) return undefined;
  const { grantId, rotation, expiresAt } = opened;
  return { kind, grantId, rotation, expiresAt, scopeBits: Uint8Array.from(opened.scopeBits) };
}

test('an encoded token is decoded to the same fields, from 96 or more base64url characters behind the prefix of its kind', () => {
  fc.assert(
    fc.property(tokens, salts, (token, salt) => {
      const text = encodeToken(keys, salt, token);
      assert.deepEqual(accept(keys, token.kind, text, salt), token);
      assert.match(text, new RegExp(`^${PREFIXES[token.kind]}(?:[A-Za-z0-9_-]{4}){24,33}$`));
      assert.equal(kindOf(text), token.kind);
    }),
  );
});

test('the same token always encodes to the same text, and any other field to another text', () => {
  fc.assert(
    fc.property(tokens, salts, tokens, (token, salt, other) => {
      const text = encodeToken(keys, salt, token);
      assert.equal(encodeToken(createKeyring(['a key of the tests']), Uint8Array.from(salt), { ...token }), text);
      const same = JSON.stringify(other) === JSON.stringify(token);
      assert.equal(encodeToken(keys, salt, other) === text, same);
    }),
  );
});

test('a token with any one character changed is rejected', () => {
  fc.assert(
    fc.property(tokens, salts, fc.nat({ max: 99 }), fc.constantFrom(...ALPHABET), (token, salt, index, character) => {
      const text = encodeToken(keys, salt, token);
      fc.pre(text[index] !== character);
      const changed = text.slice(0, index) + character + text.slice(index + 1);
      for (const kind of KINDS) assert.equal(accept(keys, kind, changed, salt), undefined);
    }),
    { numRuns: 1000 },
  );
});

test('a token that was shortened, lengthened, padded or re-encoded is rejected', () => {
  fc.assert(
    fc.property(tokens, salts, fc.string({ minLength: 1, maxLength: 4 }), (token, salt, more) => {
      const text = encodeToken(keys, salt, token);
      for (const changed of [text.slice(0, -1), text.slice(1), text + more, more + text, `${text}=`, `${text}\n`]) {
        assert.equal(accept(keys, token.kind, changed, salt), undefined);
      }
    }),
  );
});

test('a token of one kind is never accepted as another, not even with the other prefix', () => {
  fc.assert(
    fc.property(tokens, salts, fc.constantFrom(...KINDS), (token, salt, kind) => {
      fc.pre(kind !== token.kind);
      const text = encodeToken(keys, salt, token);
      assert.equal(accept(keys, kind, text, salt), undefined);
      assert.equal(accept(keys, kind, PREFIXES[kind] + text.slice(4), salt), undefined);
    }),
  );
});

test('a token is rejected for every grant but its own, although its key check passes', () => {
  fc.assert(
    fc.property(tokens, salts, salts, (token, salt, otherSalt) => {
      fc.pre(Buffer.compare(salt, otherSalt) !== 0);
      const text = encodeToken(keys, salt, token);
      assert.ok(decodeToken(keys, token.kind, text));
      assert.equal(accept(keys, token.kind, text, otherSalt), undefined);
    }),
  );
});

test('a token is rejected under any other key, before its grant is read', () => {
  fc.assert(
    fc.property(tokens, salts, (token, salt) => {
      assert.equal(decodeToken(stranger, token.kind, encodeToken(keys, salt, token)), undefined);
      assert.equal(decodeToken(keys, token.kind, encodeToken(stranger, salt, token)), undefined);
    }),
  );
});

test('the first key signs and every key of the ring verifies', () => {
  fc.assert(
    fc.property(tokens, salts, (token, salt) => {
      const before = createKeyring(['an older key of the tests']);
      const text = encodeToken(before, salt, token);
      assert.deepEqual(accept(keys, token.kind, text, salt), token);
      assert.equal(accept(before, token.kind, encodeToken(keys, salt, token), salt), undefined);
    }),
  );
});

test('decoding never throws, whatever the text', () => {
  fc.assert(
    fc.property(fc.constantFrom(...KINDS), anyText({ maxLength: 150 }), (kind, text) => {
      assert.equal(decodeToken(keys, kind, text), undefined);
      assert.equal(decodeToken(keys, kind, PREFIXES[kind] + text), undefined);
    }),
  );
});
