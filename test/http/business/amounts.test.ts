import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatAmount, readAmount } from '../../../src/business/invoices.ts';
import { FormError } from '../../../src/lib/errors.ts';

test('an amount of any size is formatted as it was parsed', () => {
  const whole = fc.bigInt({ min: 0n, max: 10n ** 30n - 1n });
  const cents = fc.integer({ min: 0, max: 99 }).map((number) => String(number).padStart(2, '0'));
  fc.assert(
    fc.property(whole, cents, (units, hundredths) => {
      const text = `${units}.${hundredths}`;
      assert.equal(formatAmount(readAmount(text)), text);
    }),
  );
});

test('an amount is stored as hundredths, in digits', () => {
  for (const [text, hundredths] of [
    ['0', '0'],
    ['0.05', '5'],
    ['1', '100'],
    ['1.5', '150'],
    ['007.10', '710'],
    [' 12.34 ', '1234'],
  ] as const) {
    assert.equal(readAmount(text), hundredths);
  }
});

test('text that is not a decimal with at most two places is rejected, never rounded', () => {
  for (const text of ['', '1.234', '1.', '.5', '-1', '+1', '1e3', '1,000.00', '0x10', 'NaN', '١', '1 000', '1.2.3']) {
    assert.throws(() => readAmount(text), FormError, text);
  }
});
