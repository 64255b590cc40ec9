import { listMemberships } from '../accounts/memberships.ts';
import { type App, listAppsById } from '../apps/apps.ts';
import type { Database, Storage } from '../storage/storage.ts';
import { type ConsentParties, forgetConsent, listConsents } from './consents.ts';
import { listLiveGrants, revokeGrantsBetween } from './grants.ts';
import type { ScopeMask } from './scopes.ts';

/** An app that acts for a user in a business, or may come back for more without asking. */
export interface Connection {
  app: App;
  businessId: string;
  businessName: string;
  scopes: ScopeMask;
  since: number;
  /** False where a consent is remembered, but no token lives by it. */
  isLive: boolean;
}

export async function listConnections(db: Database, userId: string, now: number): Promise<Connection[]> {
  const live = await listLiveGrants(db, userId, now);
  const allowed = [...live, ...(await listConsents(db, userId))];
  const memberships = new Map((await listMemberships(db, userId)).map((each) => [each.businessId, each]));
  const apps = await listAppsById(db, [...new Set(allowed.map(({ appId }) => appId))]);
  return apps.flatMap((app) =>
    [...memberships.values()].flatMap(({ businessId, businessName, since: memberSince }) => {
      const here = allowed.filter(
        (each) => each.appId === app.id && each.businessId === businessId && each.since >= memberSince,
      );
      if (here.length === 0) return [];
      const scopes = here.reduce((mask, each) => mask | each.scopes, 0) & app.allowedScopes;
      const since = Math.min(...here.map((each) => each.since));
      return [{ app, businessId, businessName, scopes, since, isLive: here.some((each) => live.includes(each)) }];
    }),
  );
}

/** Ends every token at once and forgets the consent, so that the app has to ask again. */
export async function disconnect(storage: Storage, parties: ConsentParties, now: number): Promise<void> {
  await storage.atomically(async (db) => {
    // In this order: whoever is about to rely on the consent either has made a grant that is found below, or waits.
    await forgetConsent(db, parties);
    await revokeGrantsBetween(db, parties, 'disconnected_by_user', now);
  });
}
