import { findBusiness } from '../accounts/businesses.ts';
import { addMember, findMembership, removeMember, setRole } from '../accounts/memberships.ts';
import { findUser } from '../accounts/users.ts';
import { systemClock } from '../lib/clock.ts';
import { revokeGrantsOfMember } from '../oauth/grants.ts';
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
      withStorage(env, async ({ durable }) => {
        const parties = await findParties(durable, options);
        await addMember(durable, { ...parties, role: options.text('role') }, systemClock());
        return findMembership(durable, parties.userId, parties.businessId);
      }),
  },
  {
    name: 'member set-role',
    summary: 'Change what a member may do',
    options: { user: USER, business: BUSINESS, role: ROLE },
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const { userId, businessId } = await findParties(durable, options);
        await setRole(durable, userId, businessId, options.text('role'));
        return required(await findMembership(durable, userId, businessId), 'user', 'member of this business');
      }),
  },
  {
    name: 'member remove',
    summary: 'Take a user out of a business; what they allowed there ends at once',
    options: { user: USER, business: BUSINESS },
    run: (options, env) =>
      withStorage(env, async ({ durable, atomically }) => {
        const { userId, businessId } = await findParties(durable, options);
        const removed = await atomically(async (db) => {
          await revokeGrantsOfMember(db, { userId, businessId }, systemClock());
          return removeMember(db, userId, businessId);
        });
        return required(removed ? { userId, businessId, removed } : undefined, 'user', 'member of this business');
      }),
  },
];

async function findParties(db: Database, options: Options) {
  const user = required(await findUser(db, options.text('user')), 'user', 'user');
  const business = required(await findBusiness(db, options.text('business')), 'business', 'business');
  return { userId: user.id, businessId: business.id };
}
