import type { Mutation } from './mutation.ts';

const CSRF = 'test/http/web/csrf.test.ts';
const CONNECTED = 'test/http/web/connected-apps.test.ts';
const ACCOUNT = 'test/http/web/account.test.ts';
const LIST = 'test/http/web/session-list.test.ts';
const SECRETS = 'test/http/web/developer-changes.test.ts';
const DEVELOPER = 'test/http/web/developer-access.test.ts';
const HOSTS = 'test/http/web/hosts.test.ts';
const BEARER = 'test/http/business/bearer.test.ts';
const HEADERS = 'test/http/web/headers.test.ts';
const METADATA = 'test/http/oauth/metadata.test.ts';

/** The dashboard, and what concerns every response. */
export const DASHBOARD_MUTATIONS: Mutation[] = [
  {
    promise: 'D1',
    breaks: 'a change needs no CSRF token',
    file: 'src/web/session.ts',
    find: "if (typeof csrf === 'string' && verifySignature(keys, 'csrf', signedText(ids), csrf)) return;",
    replace: 'if (true) return;',
    tests: [CSRF],
  },
  {
    promise: 'D2',
    breaks: 'disconnecting ends no grant',
    file: 'src/grants/revocation.ts',
    find: 'const { rows } = await revokeBetween(db, { ...parties, reason, now });',
    replace: 'const { rows } = await revokeBetween(db, { ...parties, appId: parties.businessId, reason, now });',
    tests: [CONNECTED],
  },
  {
    promise: 'D3',
    breaks: 'a password change leaves other sessions signed in',
    file: 'src/accounts/passwords.ts',
    find: 'await deleteOtherSessions(tx, session);',
    replace: '',
    tests: [ACCOUNT],
  },
  {
    promise: 'D3',
    breaks: 'a user can end the session of another',
    file: 'src/accounts/sessions.ts',
    find: `    .where('user_id', '=', session.user.id)
    .where('id_hash', '!=',`,
    replace: "    .where('id_hash', '!=',",
    tests: [LIST],
  },
  {
    promise: 'D4',
    breaks: 'the last secret of an app can be removed',
    file: 'src/apps/secrets.ts',
    find: 'if (secrets.length === 1) throw',
    replace: 'if (secrets.length === 0) throw',
    tests: [SECRETS],
  },
  {
    promise: 'D5',
    breaks: 'the app of another business can be opened',
    file: 'src/web/apps/app-page.ts',
    find: 'if (!app || !isOwn) throw',
    replace: 'if (!app) throw',
    tests: [DEVELOPER],
  },
  {
    promise: 'D6',
    breaks: 'the API sets a cookie',
    file: 'src/http/host.ts',
    find: "reply.header('x-request-id', request.id);",
    replace: "reply.header('x-request-id', request.id).header('set-cookie', 'request=1');",
    tests: [HOSTS],
  },
  {
    promise: 'D6',
    breaks: 'the API reads a token from a cookie',
    file: 'src/oauth/routes.ts',
    find: 'const authorization = readAuthorization(request);',
    replace: `const { cookie } = request.headers;
  const authorization = readAuthorization(request) ?? cookie?.replace(/^.*session=([^;]*).*$/, 'Bearer $1');`,
    tests: [HOSTS, BEARER],
  },
  {
    promise: 'D7',
    breaks: 'browsers are not told to use https',
    file: 'src/http/host.ts',
    find: "reply.header('strict-transport-security', hsts);",
    replace: '',
    tests: [HEADERS],
  },
  {
    promise: 'X2',
    breaks: 'the metadata offers plain PKCE',
    file: 'src/oauth/metadata.ts',
    find: "code_challenge_methods_supported: ['S256']",
    replace: "code_challenge_methods_supported: ['S256', 'plain']",
    tests: [METADATA],
  },
];
