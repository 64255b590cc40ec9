/** A set of scopes as bits: the scope at place n of the list below is bit n. */
export type ScopeMask = number;

export interface Scope {
  name: string;
  /** Whether it only looks or also changes; the consent screen keeps the two apart. */
  kind: 'read' | 'write';
  meaning: string;
}

/** The order is kept in every token and every row: add at the end, never move or remove. */
export const SCOPES: readonly Scope[] = [
  { name: 'read:invoices', kind: 'read', meaning: 'View invoices, line items and payment status' },
  { name: 'write:invoices', kind: 'write', meaning: 'Create, update and send invoices' },
  { name: 'read:contacts', kind: 'read', meaning: 'View CRM contacts and companies' },
  { name: 'write:contacts', kind: 'write', meaning: 'Create and update contacts' },
  { name: 'read:deals', kind: 'read', meaning: 'View CRM deals and pipeline' },
  { name: 'write:deals', kind: 'write', meaning: 'Create deals and change stages' },
  { name: 'read:expenses', kind: 'read', meaning: 'View expense claims and categories' },
  { name: 'read:reports', kind: 'read', meaning: 'View financial reports and analytics' },
  { name: 'read:employees', kind: 'read', meaning: 'View employee records (HR module)' },
  { name: 'read:orders', kind: 'read', meaning: 'View ecommerce orders and fulfilment' },
];

/** A bit operation has 32 bits with a sign, and tokens and rows hold no negative mask. */
const MOST_SCOPES = 31;

const BITS = assignBits(SCOPES);

/** Throws when the module is loaded, so that the server does not start with scopes that share a bit. */
export function assignBits(scopes: readonly Scope[]): Map<string, ScopeMask> {
  if (scopes.length > MOST_SCOPES) {
    const remedy = 'Remove some from SCOPES in src/grants/scopes.ts.';
    throw new Error(`There are ${scopes.length} scopes, and a token has room for ${MOST_SCOPES}. ${remedy}`);
  }
  const bits = new Map<string, ScopeMask>();
  for (const [place, { name }] of scopes.entries()) {
    if (bits.has(name)) throw new Error(`The scope ${name} is listed twice in src/grants/scopes.ts.`);
    bits.set(name, 1 << place);
  }
  return bits;
}

export function readScopes(names: readonly string[]): { scopes: ScopeMask; unknown: string[] } {
  const unknown = names.filter((name) => !BITS.has(name));
  return { scopes: names.reduce((mask, name) => mask | (BITS.get(name) ?? 0), 0), unknown };
}

/** RFC 6749 §3.3: names separated by spaces. */
export function splitScopes(text: string): string[] {
  return text.split(' ').filter((name) => name !== '');
}

export function listScopes(scopes: ScopeMask): Scope[] {
  return SCOPES.filter((_, place) => scopes & (1 << place));
}

export function scopeNames(scopes: ScopeMask): string[] {
  return listScopes(scopes).map(({ name }) => name);
}

export function formatScopes(scopes: ScopeMask): string {
  return scopeNames(scopes).join(' ');
}

/** The scopes of the first that are not in the second. */
export function scopesBeyond(scopes: ScopeMask, allowed: ScopeMask): ScopeMask {
  return scopes & ~allowed;
}
