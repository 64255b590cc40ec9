import { addBusiness, type Business, findBusiness, listBusinesses } from '../accounts/businesses.ts';
import { createInvitation } from '../accounts/invitations.ts';
import { addMember } from '../accounts/joining.ts';
import { findMembership, listMembers, ROLES } from '../accounts/memberships.ts';
import { changeBusinessRule, changePlatformRule } from '../accounts/second-factor-rules.ts';
import { renameBusiness } from '../apps/business-names.ts';
import { OPERATOR } from '../audit/entries.ts';
import { readConsentUrl, readPlatformName } from '../config/settings.ts';
import { changeRole, removeMember } from '../grants/member-changes.ts';
import { systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { newSecret } from '../lib/secrets.ts';
import type { Database } from '../storage/storage.ts';
import { type Command, type Options, required, somethingToChange, withStorage } from './command.ts';
import { requireUser, USER } from './user-option.ts';

const SECOND_FACTOR = {
  value: 'yes|no',
  choices: ['yes', 'no'],
  help: 'Whether they need two-step sign-in',
  required: true,
};

export const businessCommands: Command[] = [
  {
    name: 'business add',
    summary: 'Add a business',
    options: { name: { value: 'NAME', help: 'The name of the business', required: true } },
    run: (options, env) =>
      withStorage(env, ({ durable }) => addBusiness(OPERATOR, durable, { name: options.text('name') }, systemClock())),
  },
  {
    name: 'business list',
    summary: 'List all businesses',
    options: {},
    columns: ['id', 'name', 'requiresSecondFactor', 'createdAt'],
    examples: ['--json'],
    run: (_, env) => withStorage(env, async ({ durable }) => ({ businesses: await listBusinesses(durable) })),
  },
  {
    name: 'business change',
    summary: 'Rename a business, or decide whether its members need two-step sign-in',
    options: {
      business: { value: 'ID', help: 'The id of the business', required: true },
      name: { value: 'NAME', help: 'The new name of the business' },
      'require-second-factor': { ...SECOND_FACTOR, required: false },
    },
    needsOneOf: somethingToChange('name', 'require-second-factor'),
    examples: ['--name "Acme Ltd"', '--require-second-factor yes'],
    run: (options, env) => withStorage(env, ({ durable }) => changeBusiness(durable, options)),
  },
];

export const platformCommands: Command[] = [
  {
    name: 'platform change',
    summary: 'Decide whether every user needs two-step sign-in',
    options: { 'require-second-factor': SECOND_FACTOR },
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const rule = { isRequired: readSecondFactor(options), platformName: readPlatformName(env) };
        await changePlatformRule(OPERATOR, durable, rule, systemClock());
        return { requiresSecondFactor: rule.isRequired };
      }),
  },
];

/** Omitted settings stay unchanged. */
async function changeBusiness(db: Database, options: Options): Promise<Business | undefined> {
  const { id } = required(await findBusiness(db, options.text('business')), 'business', 'business');
  const [name, rule] = [options.text('name'), options.text('require-second-factor')];
  const isRequired = rule !== '' && readSecondFactor(options);
  if (name) await renameBusiness(OPERATOR, db, { businessId: id, name }, systemClock());
  if (rule) await changeBusinessRule(OPERATOR, db, { businessId: id, isRequired }, systemClock());
  return findBusiness(db, id);
}

function readSecondFactor(options: Options): boolean {
  const text = options.text('require-second-factor');
  if (text !== 'yes' && text !== 'no') throw new FormError('require-second-factor', 'Use yes or no.');
  return text === 'yes';
}

const BUSINESS = { value: 'ID', help: 'The id of the business', required: true };
const ROLE = { value: 'ROLE', help: 'owner, admin or member', required: true, choices: ROLES };

/** More than any business has. */
const ALL = 1_000_000;

export const memberCommands: Command[] = [
  {
    name: 'member list',
    summary: 'List the members of a business',
    options: { business: BUSINESS },
    columns: ['id', 'name', 'email', 'role', 'since', 'disabledAt'],
    examples: ['--json'],
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const business = required(await findBusiness(durable, options.text('business')), 'business', 'business');
        return { members: await listMembers(durable, business.id, { search: '', after: undefined, limit: ALL }) };
      }),
  },
  {
    name: 'member invite',
    summary: 'Create an invitation link for one email address; it is printed only once',
    options: {
      business: BUSINESS,
      role: ROLE,
      by: { ...USER, help: 'The id or the email address of the owner who invites' },
      email: { value: 'EMAIL', help: 'The address that is invited; no other account can use the link', required: true },
    },
    run: (options, env) => {
      const consentUrl = readConsentUrl(env);
      return withStorage(env, ({ durable }) => invite(durable, options, consentUrl));
    },
  },
  {
    name: 'member add',
    summary: 'Make a user a member of a business',
    options: { user: USER, business: BUSINESS, role: ROLE },
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const { user, businessId } = await findUserAndBusiness(durable, options);
        await addMember(OPERATOR, durable, { user, businessId, role: options.text('role') }, systemClock());
        return findMembership(durable, user.id, businessId);
      }),
  },
  {
    name: 'member set-role',
    summary: 'Change the role of a member',
    options: { user: USER, business: BUSINESS, role: ROLE },
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const { user, businessId } = await findUserAndBusiness(durable, options);
        const change = { userId: user.id, businessId, role: options.text('role') };
        await changeRole(OPERATOR, durable, change, systemClock());
        return required(await findMembership(durable, user.id, businessId), 'user', 'member of this business');
      }),
  },
  {
    name: 'member remove',
    summary: 'Remove a user from a business, and end the access of the apps that they connected for themselves there',
    options: { user: USER, business: BUSINESS },
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const { user, businessId } = await findUserAndBusiness(durable, options);
        const removed = await removeMember(OPERATOR, durable, { userId: user.id, businessId }, systemClock());
        const result = removed ? { userId: user.id, businessId, removed } : undefined;
        return required(result, 'user', 'member of this business');
      }),
  },
];

async function invite(db: Database, options: Options, consentUrl: string) {
  const now = systemClock();
  const business = required(await findBusiness(db, options.text('business')), 'business', 'business');
  const inviter = await requireUser(db, options, 'by');
  const token = newSecret();
  const invitation = {
    id: newId(now),
    token,
    businessId: business.id,
    role: options.text('role'),
    email: options.text('email'),
    inviter,
  };
  const created = await createInvitation(OPERATOR, db, invitation, now);
  const { inviterDisabledAt: _, ...shown } = required(created, 'by', 'owner of this business who can sign in');
  return { ...shown, link: `${consentUrl}/invitation/${token}` };
}

async function findUserAndBusiness(db: Database, options: Options) {
  const user = await requireUser(db, options);
  const business = required(await findBusiness(db, options.text('business')), 'business', 'business');
  return { user, businessId: business.id };
}
