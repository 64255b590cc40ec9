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

const BITS = new Map(SCOPES.map(({ name }, place) => [name, 1 << place]));

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
