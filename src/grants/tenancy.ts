import { findCurrentMembership, findMembership, type Membership } from '../accounts/memberships.ts';
import type { User } from '../accounts/users.ts';
import type { App } from '../apps/apps.ts';
import type { Database } from '../storage/storage.ts';

/**
 * The membership for which a new grant is created. A private app works only in the business that owns it; any other app in
 * the current business of the user. Undefined if the user has no such business.
 */
export async function findActingMembership(db: Database, app: App, user: User): Promise<Membership | undefined> {
  const bound = boundBusiness(app);
  return bound === null ? findCurrentMembership(db, user) : findMembership(db, user.id, bound);
}

/** Checks a business again that was shown on the consent screen. */
export async function mayActIn(db: Database, app: App, user: User, businessId: string): Promise<boolean> {
  const bound = boundBusiness(app);
  if (bound !== null && bound !== businessId) return false;
  return (await findMembership(db, user.id, businessId)) !== undefined;
}

/** The only business in which a private app works, or null if the user can choose. */
export function boundBusiness(app: App): string | null {
  return app.openToAnyBusiness ? null : app.ownerBusinessId;
}
