/** ISO 4217 currencies without two decimals. All others have two. */
const DECIMALS: Record<string, number> = {
  ...Object.fromEntries(
    'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0]),
  ),
  ...Object.fromEntries('BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3])),
  CLF: 4,
  UYW: 4,
};

const CURRENCIES = new Set(Intl.supportedValuesOf('currency'));

export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code);
}

export function decimalsOf(currency: string): number {
  return DECIMALS[currency] ?? 2;
}

const AMOUNT = /^(-?)(\d{1,60})(?:\.(\d{1,6}))?$/;

/** `1234.50` in minor units of the currency: 123450 for GBP. Undefined if it has more decimals than the currency. */
export function parseAmount(text: string, currency: string): bigint | undefined {
  const [, sign = '', whole, fraction = ''] = AMOUNT.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const decimals = decimalsOf(currency);
  if (/[1-9]/.test(fraction.slice(decimals))) return undefined;
  return BigInt(`${sign}${whole}${fraction.slice(0, decimals).padEnd(decimals, '0')}`);
}

/** With two decimals, or with as many as the currency has if those are more. */
export function formatAmount(minor: bigint | number | string, currency: string): string {
  const text = minor.toString();
  const [sign, digits] = text.startsWith('-') ? ['-', text.slice(1)] : ['', text];
  const decimals = decimalsOf(currency);
  const padded = digits.padStart(decimals + 1, '0');
  const whole = padded.slice(0, padded.length - decimals);
  const fraction = padded.slice(padded.length - decimals).padEnd(2, '0');
  return `${sign}${whole}.${fraction}`;
}

/** A decimal as an integer and the power of ten to divide it by. */
function parseDecimal(text: string): { digits: bigint; scale: bigint } {
  const [whole = '0', fraction = ''] = text.split('.');
  return { digits: BigInt(whole + fraction), scale: 10n ** BigInt(fraction.length) };
}

/** Exact, then rounded half away from zero, as invoices are. */
export function multiply(minor: bigint, decimal: string, divisor = 1n): bigint {
  const { digits, scale } = parseDecimal(decimal);
  const [product, by] = [minor * digits, scale * divisor];
  const rounded = (2n * (product < 0n ? -product : product) + by) / (2n * by);
  return product < 0n ? -rounded : rounded;
}
