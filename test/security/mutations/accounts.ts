import type { Mutation } from './mutation.ts';

const RESET = 'test/http/web/password-reset.test.ts';
const LINKS = 'test/http/web/password-links.test.ts';
const UNVERIFIED = 'test/http/web/unverified.test.ts';
const LOOK_ALIKES = 'test/http/accounts/look-alikes.test.ts';

/** Accounts and recovery. */
export const ACCOUNT_MUTATIONS: Mutation[] = [
  {
    promise: 'E1',
    breaks: 'a reset leaves sessions signed in',
    file: 'src/grants/account-reset.ts',
    find: 'await endSessionsOfUser(tx, userId);',
    replace: '',
    tests: [RESET, LINKS],
  },
  {
    promise: 'E1',
    breaks: 'a reset keeps passkeys',
    file: 'src/accounts/passkeys.ts',
    find: "db.deleteFrom('passkeys').where('user_id', '=', userId).executeTakeFirstOrThrow();",
    replace: "db.deleteFrom('passkeys').where('user_id', '=', '').executeTakeFirstOrThrow();",
    tests: [RESET, LINKS],
  },
  {
    promise: 'E1',
    breaks: 'an owner can make a link for a member of other businesses',
    file: 'src/accounts/password-links.ts',
    find: 'return (await listMemberships(db, user.id)).every((membership) => membership.businessId === businessId);',
    replace: 'return true;',
    tests: [LINKS],
  },
  {
    promise: 'E2',
    breaks: 'an unverified account joins another business',
    file: 'src/accounts/joining.ts',
    find: 'return emailVerifiedAt !== null || originBusinessId === businessId;',
    replace: 'return true;',
    tests: [UNVERIFIED],
  },
  {
    promise: 'E2',
    breaks: 'any account can accept an invitation',
    file: 'src/accounts/joining.ts',
    find: "if (emailSkeleton(user.email) !== emailSkeleton(email)) return 'another address';",
    replace: '',
    tests: [UNVERIFIED],
  },
  {
    promise: 'E3',
    breaks: 'invisible characters are accepted in addresses',
    file: 'src/lib/email-addresses.ts',
    find: 'if (hasHiddenCharacters(email)) throw',
    replace: 'if (false) throw',
    tests: [LOOK_ALIKES],
  },
  {
    promise: 'E3',
    breaks: 'addresses that mix alphabets are accepted',
    file: 'src/lib/email-addresses.ts',
    find: 'if (email.split(/[@.]/).some(mixesScripts)) throw',
    replace: 'if (false) throw',
    tests: [LOOK_ALIKES],
  },
  {
    promise: 'E3',
    breaks: 'the name of an address is compared letter by letter',
    file: 'src/lib/email-addresses.ts',
    find: '{skeletonOf(local)}',
    replace: '{local}',
    tests: [LOOK_ALIKES],
  },
  {
    promise: 'E4',
    breaks: 'a link never expires',
    file: 'src/accounts/password-links.ts',
    find: `
    .where('expires_at', '>', now);`,
    replace: ';',
    tests: [LINKS],
  },
  {
    promise: 'E4',
    breaks: 'a link works after the password or the address changed',
    file: 'src/accounts/password-links.ts',
    find: ' || bindingOf(found) !== row.bound_to',
    replace: '',
    tests: [LINKS],
  },
];
