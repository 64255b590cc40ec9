import type { Scopes } from '../lib/scope-lists.ts';

export interface Scope {
  name: string;
  /** Whether it only reads or also changes; the consent screen lists the two separately. */
  kind: 'read' | 'write';
  meaning: string;
  /** It concerns staff or the money of the business: a business can reserve it to its owners. */
  isSensitive?: true;
}

/** Every scope of this server, in the order in which lists show them. */
export const SCOPES: readonly Scope[] = [
  { name: 'read:invoices', kind: 'read', meaning: 'View invoices, line items and payment status' },
  { name: 'write:invoices', kind: 'write', meaning: 'Create, update and send invoices' },
  { name: 'read:contacts', kind: 'read', meaning: 'View CRM contacts and companies' },
  { name: 'write:contacts', kind: 'write', meaning: 'Create and update contacts' },
  { name: 'read:deals', kind: 'read', meaning: 'View CRM deals and pipeline' },
  { name: 'write:deals', kind: 'write', meaning: 'Create deals and change stages' },
  { name: 'read:expenses', kind: 'read', meaning: 'View expense claims and categories', isSensitive: true },
  { name: 'read:reports', kind: 'read', meaning: 'View financial reports and analytics', isSensitive: true },
  { name: 'read:employees', kind: 'read', meaning: 'View employee records (HR module)', isSensitive: true },
  { name: 'read:orders', kind: 'read', meaning: 'View ecommerce orders and fulfilment' },
];

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
