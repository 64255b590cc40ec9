import { findBusiness } from '../accounts/businesses.ts';
import { addMember, findMembership } from '../accounts/memberships.ts';
import { changeRole } from '../accounts/roles.ts';
import { findUser, type User } from '../accounts/users.ts';
import { OPERATOR, recordAct } from '../audit/acts.ts';
import { systemClock } from '../lib/clock.ts';
import { depart } from '../oauth/departures.ts';
import type { Database } from '../storage/storage.ts';
import { type Command, type Options, required, withStorage } from './command.ts';

const USER = { value: 'ID', help: 'The user’s id', required: true };
const BUSINESS = { value: 'ID', help: 'The business’s id', required: true };
const ROLE = { value: 'ROLE', help: 'owner, admin or member', required: true };

export const memberCommands: Command[] = [
  {
    name: 'member add',
    summary: 'Make a user a member of a business',
    options: { user: USER, business: BUSINESS, role: ROLE },
    run: (options, env) =>
      withStorage(env, ({ atomically }) =>
        atomically(async (db) => {
          const { user, businessId } = await findParties(db, options);
          await addMemberAsOperator(db, { user, businessId, role: options.text('role') }, systemClock());
          return findMembership(db, user.id, businessId);
        }),
      ),
  },
  {
    name: 'member set-role',
    summary: 'Change what a member may do',
    options: { user: USER, business: BUSINESS, role: ROLE },
    run: (options, env) =>
      withStorage(env, ({ atomically }) =>
        atomically(async (db) => {
          const { user, businessId } = await findParties(db, options);
          const change = { userId: user.id, businessId, role: options.text('role'), by: OPERATOR };
          await changeRole(db, change, systemClock());
          return required(await findMembership(db, user.id, businessId), 'user', 'member of this business');
        }),
      ),
  },
  {
    name: 'member remove',
    summary: 'Take a user out of a business; what they allowed there ends at once',
    options: { user: USER, business: BUSINESS },
    run: (options, env) =>
      withStorage(env, ({ atomically }) =>
        atomically(async (db) => {
          const { user, businessId } = await findParties(db, options);
          const removed = await depart(db, { userId: user.id, businessId, by: OPERATOR }, systemClock());
          const result = removed ? { userId: user.id, businessId, removed } : undefined;
          return required(result, 'user', 'member of this business');
        }),
      ),
  },
];

/** Needs a transaction. */
export async function addMemberAsOperator(
  db: Database,
  { user, businessId, role }: { user: User; businessId: string; role: string },
  now: number,
): Promise<void> {
  await addMember(db, { userId: user.id, businessId, role }, now);
  const subject = { kind: 'user', id: user.id, name: user.name } as const;
  await recordAct(db, { action: 'member.added', actor: OPERATOR, businessId, subject, detail: { role } }, now);
}

async function findParties(db: Database, options: Options) {
  const user = required(await findUser(db, options.text('user')), 'user', 'user');
  const business = required(await findBusiness(db, options.text('business')), 'business', 'business');
  return { user, businessId: business.id };
}
