import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assignBits, SCOPES } from '../../../src/grants/scopes.ts';

const scopesNamed = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `read:thing${index}`, kind: 'read' as const, meaning: 'View' }));

test('each of 31 scopes has a bit of its own that fits into a token', () => {
  const bits = [...assignBits(scopesNamed(31)).values()];

  assert.equal(new Set(bits).size, 31);
  const token = Buffer.alloc(4);
  token.writeUInt32BE(bits.reduce((mask, bit) => mask | bit));
  assert.equal(token.readUInt32BE(), 2 ** 31 - 1);
});

test('a 32nd scope stops the start with an error that says why, since its bit would equal another', () => {
  for (const count of [32, 33, 64]) {
    assert.throws(() => assignBits(scopesNamed(count)), {
      message: `There are ${count} scopes, and a token has room for 31. Remove some from SCOPES in src/grants/scopes.ts.`,
    });
  }
});

test('two scopes of the same name stop the start', () => {
  const [first] = SCOPES;
  assert.ok(first);
  assert.throws(() => assignBits([first, first]), {
    message: `The scope ${first.name} is listed twice in src/grants/scopes.ts.`,
  });
});
