/** List one of ISO 4217, by decimals. Metals, XTS and XXX are not in it: they have no amounts. */
const DECIMALS = new Map(
  Object.entries({
    0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
    2:
      'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY ' +
      'COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS ' +
      'INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR ' +
      'MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP ' +
      'STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG XDR XSU YER ZAR ZMW ZWG',
    3: 'BHD IQD JOD KWD LYD OMR TND',
    4: 'CLF UYW',
  }).flatMap(([decimals, codes]) => codes.split(' ').map((code) => [code, Number(decimals)] as const)),
);

/** Taken out of list one. They have two decimals. */
const WITHDRAWN = new Set(['ANG', 'BGN', 'CUC', 'HRK', 'SLL', 'ZWL']);

export function isCurrency(code: string): boolean {
  return DECIMALS.has(code);
}

/** For records that exist, or are imported. */
export function isOrWasCurrency(code: string): boolean {
  return isCurrency(code) || WITHDRAWN.has(code);
}

export function decimalsOf(currency: string): number {
  return DECIMALS.get(currency) ?? 2;
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
