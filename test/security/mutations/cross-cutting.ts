import type { Mutation } from './mutation.ts';

/** Addresses, errors and the clock. */
export const CROSS_CUTTING_MUTATIONS: Mutation[] = [
  {
    promise: 'X1',
    breaks: 'an issuer may have a path and a query',
    file: 'src/lib/setting-values.ts',
    find: '(url.origin !== text &&',
    replace: '(false &&',
    tests: ['test/http/oauth/metadata.test.ts'],
  },
  {
    promise: 'X3',
    breaks: 'the Host header is in the link of an invitation',
    file: 'src/web/settings/invitations.ts',
    find: 'linkBody(context, invitation, { link: `',
    replace: 'linkBody(context, invitation, { link: request.headers.host + `',
    tests: ['test/http/web/hosts.test.ts'],
  },
  {
    promise: 'X4',
    breaks: 'an error page shows the message of an internal error',
    file: 'src/web/errors.ts',
    find: 'return pageOf(500, errors.unexpected);',
    replace: 'return pageOf(500, { ...errors.unexpected, sentence: String(error) });',
    tests: ['test/http/web/headers.test.ts'],
  },
  {
    promise: 'X7',
    breaks: 'a jump of the clock is believed',
    file: 'src/storage/plausible-clock.ts',
    find: 'const isPlausible = jump <= MAX_JUMP;',
    replace: 'const isPlausible = true;',
    tests: ['test/storage/plausible-clock.test.ts'],
  },
];
