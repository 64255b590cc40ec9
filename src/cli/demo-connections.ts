import type { User } from '../accounts/users.ts';
import { addScopeUses } from '../activity/scope-uses.ts';
import { registerApp } from '../apps/apps.ts';
import { DAY } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import { rememberConsent } from '../oauth/consents.ts';
import { createGrant, markExchanged } from '../oauth/grants.ts';
import { readScopes } from '../oauth/scopes.ts';
import type { Database } from '../storage/storage.ts';

const READ = ['read:invoices', 'read:contacts'];

/** An app that people have connected already, so that there is something to see before the first click. */
export async function addDemoConnections(
  db: Database,
  { ownerBusinessId, connected }: { ownerBusinessId: string; connected: { user: User; businessId: string }[] },
  now: number,
): Promise<void> {
  const settings = {
    name: 'Parcelwise',
    redirectUris: ['https://parcelwise.example/callback'],
    allowedScopes: readScopes([...READ, 'write:invoices']).scopes,
    openToAnyBusiness: true,
    requiresPkce: true,
  };
  const registered = await registerApp(db, { ...settings, ownerBusinessId, createdBy: null }, now);
  if (!registered) throw new Error('The demo app Parcelwise could not be registered.');
  for (const [place, { user, businessId }] of connected.entries()) {
    const parties = { appId: registered.app.id, userId: user.id, businessId };
    await connect(db, parties, place === 0 ? [...READ, 'write:invoices'] : READ, now);
  }
}

async function connect(db: Database, parties: Parties, names: string[], now: number): Promise<void> {
  const { scopes } = readScopes(names);
  const id = newId(now);
  await createGrant(db, { id, ...parties, scopes, redirectUri: null, codeChallenge: null }, now);
  await markExchanged(db, id, now);
  await rememberConsent(db, parties, { allowed: scopes, declined: 0 }, now);
  const days = [0, 1, 2, 3, 7, 12];
  const uses = days.map((day) => ({ ...parties, scope: 'read:invoices', uses: 11 + 3 * day, lastAt: now - day * DAY }));
  await addScopeUses(db, uses);
}

interface Parties {
  appId: string;
  userId: string;
  businessId: string;
}
