import { createGrant } from '../../src/grants/grants.ts';
import { rotatedNow } from '../../src/grants/lifetimes.ts';
import { newId } from '../../src/lib/ids.ts';
import { newSalt } from '../../src/lib/secrets.ts';
import { inChunks } from '../../src/storage/chunks.ts';
import type { Database, Storage } from '../../src/storage/storage.ts';

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

interface NewGrants {
  appId: string;
  userId: string;
  businessId: string;
  scopes?: string[];
  count: number;
}

/** Grants whose codes were exchanged now. Returns their ids, in order. */
export async function addExchangedGrants(
  storage: Storage,
  { appId, userId, businessId, scopes = ['read:invoices'], count }: NewGrants,
  now: number,
): Promise<string[]> {
  const parties = { app_id: appId, user_id: userId, business_id: businessId, scopes: scopes.join(' ') };
  const times = { created_at: now, code_expires_at: now, exchanged_at: now, rotation: 0, ...rotatedNow(now) };
  const rows = Array.from({ length: count }, () => ({ id: newId(now), salt: newSalt(), ...parties, ...times }));
  await storage.transaction(async (tx) => {
    for (const chunk of inChunks(rows)) await tx.insertInto('grants').values(chunk).execute();
  });
  return rows.map(({ id }) => id);
}
