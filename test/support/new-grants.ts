import { createGrant } from '../../src/grants/grants.ts';
import { newId } from '../../src/lib/ids.ts';
import type { Database } from '../../src/storage/storage.ts';

/** A grant for `read:invoices`, whose code was not exchanged. Returns its id. */
export async function addGrant(
  db: Database,
  parties: { appId: string; userId: string; businessId: string },
  now: number,
): Promise<string> {
  const id = newId(Date.now());
  const allowed = { connectedFor: 'user', scopes: ['read:invoices'], expiresAt: null } as const;
  const request = { resource: null, redirectUri: null, codeChallenge: null, stops: 0 };
  await createGrant(db, { id, ...parties, ...allowed, ...request, scopes: [...allowed.scopes] }, now);
  return id;
}
