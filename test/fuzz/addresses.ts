import { PARTS } from './address-parts.ts';
import { newRandom, type Random } from './random.ts';

type Part = keyof typeof PARTS;

/** Distinct and deterministic. Each has only a few odd parts, since otherwise all would be rejected. */
export function makeAddresses(seed: number, count: number): string[] {
  const made = new Set<string>();
  for (let number = 0; made.size < count; number++) made.add(makeAddress(newRandom(seed, number)));
  return [...made];
}

function makeAddress(random: Random): string {
  const names = Object.keys(PARTS) as Part[];
  const odd = new Set(Array.from({ length: 1 + random.below(3) }, () => random.pick(names)));
  return names.map((name) => (odd.has(name) ? random.pick(PARTS[name]) : PARTS[name][0])).join('');
}

/** Variants with which an attacker may try to redirect elsewhere. */
export function makeVariants(registered: readonly string[], seed: number, count: number): string[] {
  const made = new Set<string>();
  for (let number = 0; made.size < count; number++) made.add(makeVariant(newRandom(seed, number), registered));
  return [...made];
}

const INSERTED = [
  '@',
  '\\',
  '/',
  '//',
  '/../',
  '/./',
  '%2e',
  '%2f',
  '%00',
  '\t',
  '\n',
  '\r\n',
  ' ',
  '.',
  ':',
  ':0',
  ':8080',
  ':99999',
  '#',
  '?',
  '?x',
  '&x=y',
  ';',
  '*',
  '\u3002',
  '\u00ad',
  '\ud800',
  '.evil.example',
  '@evil.example/',
  '\\@evil.example/',
  'https://evil.example/',
  '%',
  '+',
  "'",
  '[',
  '\ufeff',
];

function makeVariant(random: Random, registered: readonly string[]): string {
  const uri = random.pick(registered);
  const index = random.below(uri.length + 1);
  const [before, behind] = [uri.slice(0, index), uri.slice(index)];
  return random.pick([
    () => before + random.pick(INSERTED) + behind,
    () => before + random.pick(INSERTED) + behind,
    () => uri + random.pick(INSERTED),
    () => random.pick(INSERTED) + uri,
    () => before + behind.slice(1),
    () => before + behind.charAt(0).toUpperCase() + behind.slice(1),
    () => before + encodeURIComponent(behind.charAt(0)) + behind.slice(1),
    () => uri.replace(/:\d+|(?=\/\w*$)/, `:${random.below(70_000)}`),
    () => uri.replace(/\/\/[^/]*/, (host) => `//evil.example${random.pick(INSERTED)}${host.slice(2)}`),
    () => `${uri}${random.pick(['/', '?', '#', '/..', '%20', '/a'])}`,
  ])();
}
