import type { Mutation } from './mutation.ts';

const CONNECTIONS = 'test/http/web/business-connections.test.ts';
const BUSINESS_ADDRESS = 'test/http/web/business-address.test.ts';
const MEMBER_SIGN_INS = 'test/http/web/member-sign-ins.test.ts';
const FAILED_SIGN_INS = 'test/http/web/failed-sign-ins.test.ts';
const AUDIT_REPEATS = 'test/http/web/audit-repeats.test.ts';
const ADDRESSES = 'test/http/web/addresses.test.ts';
const MAILED_INVITATIONS = 'test/http/web/mailed-invitations.test.ts';

/** Businesses, their connections and logs, and the addresses of people. */
export const BUSINESS_MUTATIONS: Mutation[] = [
  {
    promise: 'C2',
    breaks: 'a code that is not exchanged moves to the new owner',
    file: 'src/grants/transferred-grants.ts',
    find: 'isCode: row.exchanged_at === null,',
    replace: 'isCode: false,',
    tests: [CONNECTIONS],
  },
  {
    promise: 'C2',
    breaks: 'a code that stays with its user still connects the business',
    file: 'src/grants/transferred-grants.ts',
    find: 'await markForUser(db, ids);',
    replace: '',
    tests: [CONNECTIONS],
  },
  {
    promise: 'C7',
    breaks: 'scopes that the new owner did not see come back to the app',
    file: 'src/grants/transferred-grants.ts',
    find: 'withdrawnScopes: [...withdrawn, ...unseen]',
    replace: 'withdrawnScopes: withdrawn',
    tests: [CONNECTIONS],
  },
  {
    promise: 'C10',
    breaks: 'a request is decided twice',
    file: 'src/grants/app-approvals.ts',
    find: "if (request?.status !== 'requested' || !app || !member) return false;",
    replace: 'if (!request || !app || !member) return false;',
    tests: ['test/postgres/approval-locks.test.ts'],
    database: 'postgres',
  },
  {
    promise: 'D5',
    breaks: 'the address of a business of others opens a business of the user',
    file: 'src/web/page-context.ts',
    find: 'memberships.find(({ businessId }) => businessId === business);',
    replace: 'memberships.find(({ businessId }) => businessId === business) ?? memberships[0];',
    tests: [BUSINESS_ADDRESS],
  },
  {
    promise: 'D5',
    breaks: 'every member opens the pages of owners',
    file: 'src/web/access.ts',
    find: 'if (!current || !ROLES[level].includes(current.role)) throw notFound();',
    replace: 'if (!current) throw notFound();',
    tests: [BUSINESS_ADDRESS, MEMBER_SIGN_INS],
  },
  {
    promise: 'P9',
    breaks: 'a business id in the query replaces the header',
    file: 'src/business/routes.ts',
    find: "joinRepeated(request.headers['x-business-id'])",
    replace: "joinRepeated((request.query['x-business-id'] as string) ?? request.headers['x-business-id'])",
    tests: ['test/http/business/tenancy.test.ts'],
  },
  {
    promise: 'S4',
    breaks: 'the filter of the audit log tells whether an address has an account',
    file: 'src/web/audit-filters.ts',
    find: '(await findUserByEmail(db, email))?.id ?? NO_ID;',
    replace: '(await findUserByEmail(db, email))?.id;',
    tests: ['test/http/web/audit-filters.test.ts'],
  },
  {
    promise: 'X9',
    breaks: 'every sign-in of a member leaves an entry in the log of the business',
    file: 'src/accounts/sign-in.ts',
    find: 'if (!isPowerOfTen(times)) continue;',
    replace: '',
    tests: [MEMBER_SIGN_INS],
  },
  {
    promise: 'X9',
    breaks: 'every failed sign-in leaves an entry',
    file: 'src/accounts/sign-in.ts',
    find: 'if (!user || !isPowerOfTen(times)) return;',
    replace: 'if (!user) return;',
    tests: [FAILED_SIGN_INS],
  },
  {
    promise: 'X9',
    breaks: 'authorizations without a screen leave an entry each, if they are made at once',
    file: 'src/grants/decisions.ts',
    find: 'if (times > 1 && (await hasUnrevokedGrant(actor, tx, decision))) return;',
    replace: '',
    tests: [AUDIT_REPEATS],
    database: 'postgres',
  },
  {
    promise: 'D3',
    breaks: 'other sessions stay signed in after a change of address',
    file: 'src/accounts/addresses.ts',
    find: 'await deleteOtherSessions(tx, session);',
    replace: '',
    tests: [ADDRESSES],
  },
  {
    promise: 'E2',
    breaks: 'a link for an address works in the session of another account',
    file: 'src/accounts/addresses.ts',
    find: 'if (!link?.email || link.subject_id !== session.user.id) return false;',
    replace: 'if (!link?.email) return false;',
    tests: [ADDRESSES],
  },
  {
    promise: 'E2',
    breaks: 'the link that an owner sees proves the address',
    file: 'src/accounts/mailed-invitations.ts',
    find: "return { invitation: shown, source: 'shown' };",
    replace: "return { invitation: shown, source: 'mailed' };",
    tests: [MAILED_INVITATIONS],
  },
  {
    promise: 'E3',
    breaks: 'an address that another account has gets a link',
    file: 'src/accounts/addresses.ts',
    find: 'const isTaken = await isAddressTaken(tx, { id: user.id, email });',
    replace: 'const isTaken = false;',
    tests: [ADDRESSES],
  },
  {
    promise: 'E3',
    breaks: 'of two accounts that confirm one address, the second sees an error of the server',
    file: 'src/accounts/addresses.ts',
    find: 'throw isUniqueViolation(error) ? addressTaken() : error;',
    replace: 'throw error;',
    tests: ['test/postgres/address-locks.test.ts'],
    database: 'postgres',
  },
  {
    promise: 'E4',
    breaks: 'the mailed link of an invitation never expires',
    file: 'src/accounts/mailed-invitations.ts',
    find: "link.expires_at > now ? 'mailed' : 'expired'",
    replace: "'mailed'",
    tests: [MAILED_INVITATIONS],
  },
];
