import { findCurrentMembership, findMembership, type Membership } from '../accounts/memberships.ts';
import type { User } from '../accounts/users.ts';
import type { App } from '../apps/apps.ts';
import type { Database } from '../storage/storage.ts';

/**
 * The one business that a token will act in. A private app acts only in the business that owns it; any other app acts
 * where the user does at this moment. Undefined when the user has no such business.
 */
export async function findActingMembership(db: Database, app: App, user: User): Promise<Membership | undefined> {
  const bound = boundBusiness(app);
  return bound === null ? findCurrentMembership(db, user) : findMembership(db, user.id, bound);
}

/** Whether what a user was shown, and then allowed, still holds. */
export async function mayActIn(db: Database, app: App, user: User, businessId: string): Promise<boolean> {
  const bound = boundBusiness(app);
  if (bound !== null && bound !== businessId) return false;
  return (await findMembership(db, user.id, businessId)) !== undefined;
}

/** The business that a private app is bound to, or null where the user's choice decides. */
export function boundBusiness(app: App): string | null {
  return app.openToAnyBusiness ? null : app.ownerBusinessId;
}
