/** In order of precedence: most browsers also claim to be some of those below. */
const BROWSERS: [pattern: RegExp, name: string][] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|OPT|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|Chromium|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bVersion\/[\d.]+ .*\bSafari\//, 'Safari'],
];

const SYSTEMS: [pattern: RegExp, name: string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMac OS X\b|\bMacintosh\b/, 'Mac'],
  [/\bLinux\b|\bX11\b/, 'Linux'],
];

/** Such as "Firefox on Windows". In English. */
export function describeUserAgent(userAgent: string): string {
  const { browser, system } = parseUserAgent(userAgent);
  return `${browser || 'Unknown browser'}${system && ` on ${system}`}`;
}

/** An empty name is one that was not recognised. */
export function parseUserAgent(userAgent: string): { browser: string; system: string } {
  return { browser: findName(BROWSERS, userAgent), system: findName(SYSTEMS, userAgent) };
}

function findName(patterns: [RegExp, string][], userAgent: string): string {
  return patterns.find(([pattern]) => pattern.test(userAgent))?.[1] ?? '';
}
