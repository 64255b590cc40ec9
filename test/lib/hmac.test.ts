import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { assert as holds, property, uint8Array } from 'fast-check';
import { createHmacSha256 } from '../../src/lib/keyring.ts';

test('a MAC equals HMAC-SHA-256 of node:crypto, for any key and message', () => {
  const key = uint8Array({ minLength: 0, maxLength: 64 });
  const part = uint8Array({ maxLength: 200 });
  holds(
    property(key, part, part, (secret, first, second) => {
      const expected = createHmac('sha256', secret).update(first).update(second).digest('latin1');
      const hmac = createHmacSha256(secret);
      assert.equal(hmac([first, second]), expected);
      hmac([second, second, second]);
      assert.equal(hmac([first, second]), expected);
    }),
    { numRuns: 500 },
  );
});

test('a key longer than a block, which would have to be hashed first, is rejected', () => {
  assert.throws(() => createHmacSha256(new Uint8Array(65)), /at most one block/);
});
