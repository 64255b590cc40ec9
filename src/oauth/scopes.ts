import { en, type Texts } from '../languages/en.ts';
import type { Scopes } from '../lib/scope-lists.ts';

export interface Scope {
  name: string;
  /** Whether it only reads or also changes; the consent screen lists the two separately. */
  kind: 'read' | 'write';
  /** In English. */
  meaning: string;
  /** It concerns staff or the money of the business: a business can reserve it to its owners. */
  isSensitive?: true;
}

/** What each means is in the catalogue of every language: without it, this does not compile. */
type ScopeName = keyof Texts['scopes'];
type Declared = Omit<Scope, 'meaning'> & { name: ScopeName };

/** Every scope of this server, in the order in which lists show them. */
const DECLARED: readonly Declared[] = [
  { name: 'read:invoices', kind: 'read' },
  { name: 'write:invoices', kind: 'write' },
  { name: 'read:contacts', kind: 'read' },
  { name: 'write:contacts', kind: 'write' },
  { name: 'read:deals', kind: 'read' },
  { name: 'write:deals', kind: 'write' },
  { name: 'read:expenses', kind: 'read', isSensitive: true },
  { name: 'read:reports', kind: 'read', isSensitive: true },
  { name: 'read:employees', kind: 'read', isSensitive: true },
  { name: 'read:orders', kind: 'read' },
];

export const SCOPES: readonly Scope[] = DECLARED.map((scope) => ({ ...scope, meaning: en.scopes[scope.name] }));

assertUnique(SCOPES);

/** Called when the module is loaded: the server does not start. Names that differ only in case count as equal. */
export function assertUnique(scopes: readonly Scope[]): void {
  const names = new Set<string>();
  for (const { name } of scopes) {
    if (names.has(name.toLowerCase())) throw new Error(`The scope ${name} is listed twice in src/oauth/scopes.ts.`);
    names.add(name.toLowerCase());
  }
}

export function readScopes(names: readonly string[]): { scopes: Scopes; unknown: string[] } {
  const scopes = listScopes(names).map(({ name }) => name);
  return { scopes, unknown: names.filter((name) => !scopes.includes(name)) };
}

export function listScopes(scopes: Scopes): Scope[] {
  return SCOPES.filter(({ name }) => scopes.includes(name));
}

/** In a language. */
export function meaningOf({ scopes }: Texts, { name, meaning }: Scope): string {
  return Object.hasOwn(scopes, name) ? scopes[name as ScopeName] : meaning;
}
