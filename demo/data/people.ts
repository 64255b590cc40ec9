import { addBusiness, type Business } from '../../src/accounts/businesses.ts';
import { insertMembership, type Role } from '../../src/accounts/memberships.ts';
import { addUser } from '../../src/accounts/joining.ts';
import { auditedUser, type NewUser, type User, userActor } from '../../src/accounts/users.ts';
import { type Actor, OPERATOR, recordAudit } from '../../src/audit/entries.ts';
import { DAY, MINUTE } from '../../src/lib/clock.ts';
import type { Database } from '../../src/storage/storage.ts';

export const DEMO_PASSWORD = 'over the drawbridge';
export const DEMO_USERS = {
  owner: { email: 'olivia@harbour.example', name: 'Olivia Marsh', isPlatformAdmin: false },
  member: { email: 'sam@harbour.example', name: 'Sam Okafor', isPlatformAdmin: false },
  admin: { email: 'priya@platform.example', name: 'Priya Nair', isPlatformAdmin: true },
};

/** Two businesses and their people, who have been here for a while. */
export async function addDemoPeople(db: Database, now: number) {
  const began = now - 60 * DAY;
  const harbour = await addBusiness(OPERATOR, db, { name: 'Harbour Coffee' }, began);
  const northgate = await addBusiness(OPERATOR, db, { name: 'Northgate Software' }, began);
  const add = (user: Omit<NewUser, 'password'>, at: number) => addUser(OPERATOR, db, { ...user, password: DEMO_PASSWORD }, at);
  const owner = await add(DEMO_USERS.owner, began);
  const admin = await add(DEMO_USERS.admin, began);
  const member = await add(DEMO_USERS.member, began + 4 * DAY);
  await settle(db, { user: owner, business: harbour, role: 'owner', by: OPERATOR }, began + MINUTE);
  await settle(db, { user: admin, business: northgate, role: 'owner', by: OPERATOR }, began + MINUTE);
  await settle(db, { user: member, business: harbour, role: 'member', by: personAt(member) }, began + 4 * DAY);
  await settle(db, { user: member, business: northgate, role: 'member', by: personAt(member) }, began + 9 * DAY);
  return { harbour, northgate, owner, member, admin };
}

/** Someone at a browser, at an address that is nobody's. */
export function personAt(user: User): Actor {
  return userActor(user, '203.0.113.24');
}

async function settle(
  db: Database,
  { user, business, role, by }: { user: User; business: Business; role: Role; by: Actor },
  at: number,
): Promise<void> {
  await insertMembership(db, { userId: user.id, businessId: business.id, role }, at);
  const action = by === OPERATOR ? 'member.added' : 'member.joined';
  const subject = auditedUser(user);
  await recordAudit(db, { action, actor: by, businessId: business.id, subject, detail: { role } }, at);
}
