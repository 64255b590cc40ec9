import { findCurrentMembership, findMembership, type Membership } from '../accounts/memberships.ts';
import type { User } from '../accounts/users.ts';
import type { App } from '../apps/apps.ts';
import { SECOND } from '../lib/clock.ts';
import type { Database } from '../storage/storage.ts';

/**
 * The membership for which a new grant is created: in the given business or, if it is null, in the current business of the
 * user. Undefined if the user is not a member, or if the app does not work there: a private app works only in the business
 * that owns it.
 */
export async function findActingMembership(
  db: Database,
  { app, user, businessId }: { app: App; user: User; businessId: string | null },
): Promise<Membership | undefined> {
  const bound = boundBusiness(app);
  if (bound !== null && businessId !== null && bound !== businessId) return undefined;
  const only = bound ?? businessId;
  return only === null ? findCurrentMembership(db, user) : findMembership(db, user.id, only);
}

/** The only business in which a private app works, or null if the user can choose. */
export function boundBusiness(app: App): string | null {
  return app.openToAnyBusiness ? null : app.ownerBusinessId;
}

/** How far the clocks of nodes may differ. */
const CLOCK_DIFFERENCE = 10 * SECOND;

/**
 * When the member allows an app, if it is now. A grant from before its user joined is inactive, and the clock of the node at which they
 * joined may be ahead.
 */
export function timeOfAllow({ since }: Membership, now: number): number {
  return since < now + CLOCK_DIFFERENCE ? Math.max(since, now) : now;
}
