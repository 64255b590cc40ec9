import { findBusiness } from '../accounts/businesses.ts';
import { findUser } from '../accounts/users.ts';
import { findApp } from '../apps/apps.ts';
import { explain } from '../grants/inactive-reasons.ts';
import { scopeNames } from '../grants/scopes.ts';
import { type Access, invalidToken } from '../oauth/bearer.ts';
import type { Database } from '../storage/storage.ts';

/** GET /api/v1/me */
export async function describeAccess(db: Database, access: Access) {
  const [user, business, app] = await Promise.all([
    findUser(db, access.userId),
    findBusiness(db, access.businessId),
    findApp(db, access.appId),
  ]);
  // The app may have been deleted since the token was checked. Users and businesses are never deleted.
  if (!user || !business || !app) throw invalidToken('app_deleted', explain('app_deleted'));
  return {
    user: { id: user.id, name: user.name, email: user.email, emailVerified: user.emailVerifiedAt !== null },
    business: { id: business.id, name: business.name },
    app: { id: app.id, name: app.name },
    scopes: scopeNames(access.scopes),
    grantedAt: new Date(access.grantedAt).toISOString(),
  };
}
