import type { Mutation } from './mutation.ts';

const RESET = 'test/http/web/password-reset.test.ts';
const LINKS = 'test/http/web/password-links.test.ts';
const FORGOTTEN = 'test/http/web/forgotten-password.test.ts';
const UNVERIFIED = 'test/http/web/unverified.test.ts';
const TWO_STEP = 'test/http/web/two-step.test.ts';
const TWO_STEP_SIGN_IN = 'test/http/web/two-step-sign-in.test.ts';
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
    file: 'src/accounts/mail-links.ts',
    find: ' && bindingOf(found) === boundTo',
    replace: '',
    tests: [LINKS, FORGOTTEN],
  },
  {
    promise: 'E5',
    breaks: 'a mailed link removes the second factor',
    file: 'src/grants/account-reset.ts',
    find: "if (creator.kind !== 'mail' || user.emailVerifiedAt === null) return undefined;",
    replace: 'return undefined;',
    tests: [FORGOTTEN],
  },
  {
    promise: 'E4',
    breaks: 'a mailed link never expires',
    file: 'src/accounts/mail-links.ts',
    find: `
    .where('expires_at', '>', now)`,
    replace: '',
    tests: [FORGOTTEN],
  },
  {
    promise: 'E4',
    breaks: 'an older mailed link works beside a newer one',
    file: 'src/accounts/mail-links.ts',
    find: "conflict.columns(['user_id', 'purpose']).doUpdateSet(link)",
    replace: "conflict.columns(['user_id', 'purpose']).doNothing()",
    tests: [FORGOTTEN],
  },
  {
    promise: 'E6',
    breaks: 'a request for an address without an account does less work',
    file: 'src/accounts/password-links.ts',
    find: 'const userId = account?.user.id ?? newId(now);',
    replace: 'if (!account) return; const userId = account.user.id;',
    tests: ['test/process/forgotten-password-work.test.ts'],
  },
  {
    promise: 'E5',
    breaks: 'a code works again',
    file: 'src/accounts/authenticator-apps.ts',
    find: "eb('used_step', '<', step)",
    replace: "eb('used_step', '<=', step)",
    tests: [TWO_STEP_SIGN_IN],
  },
  {
    promise: 'E5',
    breaks: 'a password signs in without the second step',
    file: 'src/accounts/sign-in.ts',
    find: "if (needsSecondStep(await findSecondFactors(tx, attempt.user.id))) return 'second_step';",
    replace: '',
    tests: [TWO_STEP_SIGN_IN],
  },
  {
    promise: 'E5',
    breaks: 'a second step goes on in another browser',
    file: 'src/web/second-step.ts',
    find: 'pending?.visitor === hashSecret(visitorId) && ',
    replace: 'pending !== undefined && ',
    tests: [TWO_STEP_SIGN_IN],
  },
  {
    promise: 'E5',
    breaks: 'a session without the second step opens every page',
    file: 'src/accounts/sessions.ts',
    find: 'lacksSecondFactor: row.second_factor === null && row.needs_second_factor === 1,',
    replace: 'lacksSecondFactor: false,',
    tests: [TWO_STEP],
  },
  {
    promise: 'E5',
    breaks: 'wrong codes are not counted',
    file: 'src/web/second-step.ts',
    find: 'await countCodeAttempt(deps, request, { user, method });',
    replace: '{ reset: async () => {} };',
    tests: [TWO_STEP_SIGN_IN],
  },
  {
    promise: 'E5',
    breaks: 'any proof removes a factor',
    file: 'src/accounts/second-factors.ts',
    find: 'if (proof && (await proveSecondFactor(actor, deps, { user, proof }, now))) return;',
    replace: 'if (proof || actor || deps || user || now) return;',
    tests: [TWO_STEP],
  },
];
