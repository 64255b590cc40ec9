import { FormError } from '../lib/errors.ts';

const AMOUNT = /^(\d{1,30})(?:\.(\d{1,2}))?$/;

/** Decimal text to hundredths, in digits. No number is involved, so nothing is ever rounded. */
export function readAmount(text: string): string {
  const [, whole, fraction = ''] = AMOUNT.exec(text.trim()) ?? [];
  if (whole === undefined) throw new FormError('total', 'A total is a decimal with at most two places, like 1234.50.');
  return BigInt(whole + fraction.padEnd(2, '0')).toString();
}

export function formatAmount(hundredths: string): string {
  const digits = hundredths.padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
