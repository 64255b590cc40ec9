import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decimalsOf, formatAmount, isCurrency, multiply, parseAmount } from '../../src/lib/money.ts';

test('an amount of any size is formatted as it was parsed', () => {
  const whole = fc.bigInt({ min: 0n, max: 10n ** 30n - 1n });
  const cents = fc.integer({ min: 0, max: 99 }).map((number) => String(number).padStart(2, '0'));
  fc.assert(
    fc.property(whole, cents, (units, hundredths) => {
      const text = `${units}.${hundredths}`;
      assert.equal(formatAmount(parseAmount(text, 'GBP') ?? '', 'GBP'), text);
    }),
  );
});

test('an amount is stored in minor units of its currency', () => {
  for (const [text, currency, minor] of [
    ['0', 'GBP', 0n],
    ['0.05', 'GBP', 5n],
    ['1.5', 'GBP', 150n],
    ['007.10', 'GBP', 710n],
    ['-3.20', 'EUR', -320n],
    ['1200', 'JPY', 1200n],
    ['1200.00', 'JPY', 1200n],
    ['1.234', 'KWD', 1234n],
    ['1.2345', 'CLF', 12345n],
  ] as const) {
    assert.equal(parseAmount(text, currency), minor, `${text} ${currency}`);
  }
});

test('an amount is written with two decimals, or with more if its currency has more', () => {
  assert.equal(formatAmount(1200n, 'JPY'), '1200.00');
  assert.equal(formatAmount(5n, 'GBP'), '0.05');
  assert.equal(formatAmount(-5n, 'GBP'), '-0.05');
  assert.equal(formatAmount(1234n, 'KWD'), '1.234');
  assert.deepEqual(['JPY', 'GBP', 'KWD', 'CLF'].map(decimalsOf), [0, 2, 3, 4]);
});

test('text that is not a decimal, or has more places than the currency, is rejected and never rounded', () => {
  for (const text of ['', '1.234', '1.', '.5', '+1', '1e3', '1,000.00', '0x10', 'NaN', '١', '1 000', '1.2.3']) {
    assert.equal(parseAmount(text, 'GBP'), undefined, text);
  }
  assert.equal(parseAmount('1.5', 'JPY'), undefined);
});

test('a product is exact and rounded half away from zero', () => {
  assert.equal(multiply(750n, '12'), 9000n);
  assert.equal(multiply(333n, '0.5'), 167n);
  assert.equal(multiply(-333n, '0.5'), -167n);
  assert.equal(multiply(9000n, '17.5', 100n), 1575n);
  assert.equal(multiply(10n ** 29n + 1n, '3'), 3n * (10n ** 29n + 1n));
});

test('currencies are those of ISO 4217, with funds, and without those that were withdrawn', () => {
  for (const code of ['GBP', 'CLF', 'UYW', 'UYI', 'VED']) assert.ok(isCurrency(code), code);
  for (const code of ['ABC', 'HRK', 'ZWL', 'XTS', 'XXX', 'gbp']) assert.ok(!isCurrency(code), code);
  assert.equal(decimalsOf('UYI'), 0);
});
