import type { Mutation } from './mutation.ts';

const SIGN_IN = 'test/http/web/sign-in.test.ts';
const LIMITS = 'test/http/web/sign-in-limits.test.ts';
const CSRF = 'test/http/web/csrf.test.ts';
const RETURN_TO = 'test/http/web/return-to.test.ts';
const SESSIONS = 'test/http/web/sessions.test.ts';
const PASSWORDS = 'test/http/accounts/passwords.test.ts';
const FAILURES = 'test/process/failed-sign-in-work.test.ts';
const WORK = 'test/security/sign-in-work.test.ts';
const ESCAPING = 'test/http/web/escaping.test.ts';
const HASHES = 'test/lib/passwords.test.ts';

/** Sign-in and sessions. */
export const SIGN_IN_MUTATIONS: Mutation[] = [
  {
    promise: 'S5',
    breaks: 'a failed sign-in runs more statements for an account than for a stranger',
    file: 'src/accounts/sign-in.ts',
    find: 'const businessIds = await listBusinessIds(tx, user?.id ?? newId(now));',
    replace: 'const businessIds = user ? await listBusinessIds(tx, user.id) : [];',
    tests: [FAILURES],
  },
  {
    promise: 'S1',
    breaks: 'the old session stays valid after a new sign-in',
    file: 'src/accounts/sign-in.ts',
    find: 'if (previous) await deleteSession(tx, previous.id);',
    replace: '',
    tests: [SIGN_IN],
  },
  {
    promise: 'S2',
    breaks: 'a sign-in keeps the session id that the browser had',
    file: 'src/web/sign-in.ts',
    find: '    return finishSignIn(',
    replace: `    const [planted, { hashSecret }] = [request.cookies['__Host-session'], await import('../lib/secrets.ts')];
    const started = deps.storage.durable.updateTable('sessions').where('id_hash', '=', hashSecret(signedIn.session.id));
    if (planted) await started.set({ id_hash: hashSecret(planted) }).execute();
    if (planted) signedIn.session.id = planted;
    return finishSignIn(`,
    tests: [SIGN_IN],
  },
  {
    promise: 'S3',
    breaks: 'a script can read the session cookie',
    file: 'src/web/session.ts',
    find: 'secure: true, httpOnly: true,',
    replace: 'secure: true, httpOnly: false,',
    tests: [SIGN_IN],
  },
  {
    promise: 'S3',
    breaks: 'the session cookie is sent over plain http',
    file: 'src/web/session.ts',
    find: 'secure: true, httpOnly: true,',
    replace: 'secure: false, httpOnly: true,',
    tests: [SIGN_IN],
  },
  {
    promise: 'S3',
    breaks: 'the session cookie is sent with requests of other sites',
    file: 'src/web/session.ts',
    find: "sameSite: 'lax'",
    replace: "sameSite: 'none'",
    tests: [SIGN_IN],
  },
  {
    promise: 'S4',
    breaks: 'an unknown user gets another status',
    file: 'src/web/sign-in.ts',
    find: 'return reject(401, texts',
    replace: "return reject(email.startsWith('ada') ? 401 : 404, texts",
    tests: [SIGN_IN],
  },
  {
    promise: 'S5',
    breaks: 'an unknown user is rejected without hashing a password',
    file: 'src/lib/passwords.ts',
    find: "const [, memory, passes, parallelism, nonce = '', hash = ''] =",
    replace: `if (stored === undefined) return false;
  const [, memory, passes, parallelism, nonce = '', hash = ''] =`,
    tests: [WORK],
  },
  {
    promise: 'S6',
    breaks: 'a form of another origin is accepted',
    file: 'src/web/session.ts',
    find: 'if (foreign) throw',
    replace: 'if (false) throw',
    tests: [CSRF],
  },
  {
    promise: 'S7',
    breaks: 'any path of this host is accepted as return_to',
    file: 'src/web/return-to.ts',
    find: ' && ALLOWED_PATHS.test(url.pathname)',
    replace: '',
    tests: [RETURN_TO],
  },
  {
    promise: 'S8',
    breaks: 'a return address may lead to another host',
    file: 'src/web/return-to.ts',
    find: '!/^\\/(?![/\\\\])[\\x21-\\x7e]*$/.test(text)',
    replace: 'false',
    tests: [RETURN_TO],
  },
  {
    promise: 'S9',
    breaks: 'failures are not counted by account',
    file: 'src/web/sign-in.ts',
    find: 'await countAttempt(deps, request, email);',
    replace: '{ refund: async () => {}, reset: async () => {} };',
    tests: [LIMITS],
  },
  {
    promise: 'S9',
    breaks: 'failures are not counted by address',
    file: 'src/web/sign-in.ts',
    find: `await limits.signInPerAddress.count(network);
  const counted`,
    replace: 'const counted',
    tests: [LIMITS],
  },
  {
    promise: 'S10',
    breaks: 'an attempt is counted only after its password was checked',
    file: 'src/web/known-browsers.ts',
    find: 'await limit.count(key);',
    replace: 'setTimeout(() => limit.count(key).catch(() => {}), 500);',
    tests: [LIMITS],
  },
  {
    promise: 'S11',
    breaks: 'known browsers have no reserve',
    file: 'src/web/known-browsers.ts',
    find: '!(await isKnown(deps, request, account))',
    replace: 'true',
    tests: [LIMITS],
  },
  {
    promise: 'S12',
    breaks: 'X-Forwarded-For of any client is believed',
    file: 'src/http/host.ts',
    find: '      trustProxy,\n',
    replace: '      trustProxy: true,\n',
    tests: [LIMITS],
  },
  {
    promise: 'S13',
    breaks: 'long passwords are cut',
    file: 'src/lib/passwords.ts',
    find: "return password.normalize('NFC');",
    replace: "return password.normalize('NFC').slice(0, 64);",
    tests: [HASHES],
  },
  {
    promise: 'S13',
    breaks: 'common passwords are accepted',
    file: 'src/lib/passwords.ts',
    find: "return dictionary['passwords-common'].includes(password.toLowerCase());",
    replace: 'return false;',
    tests: [HASHES, PASSWORDS],
  },
  {
    promise: 'S14',
    breaks: 'passwords are hashed at a lower cost',
    file: 'src/lib/passwords.ts',
    find: 'memory: 19456, passes: 2,',
    replace: 'memory: 8192, passes: 1,',
    tests: [HASHES],
  },
  {
    promise: 'S15',
    breaks: 'a session never expires',
    file: 'src/accounts/sessions.ts',
    find: `      .where('sessions.id_hash', '=', idHash)
      .where('sessions.expires_at', '>', now),`,
    replace: "      .where('sessions.id_hash', '=', idHash),",
    tests: [SESSIONS],
  },
  {
    promise: 'S15',
    breaks: 'a session that is used lives for ever',
    file: 'src/accounts/sessions.ts',
    find: 'Math.min(now + IDLE_LIFETIME, row.signed_in_at + ABSOLUTE_LIFETIME)',
    replace: 'now + IDLE_LIFETIME',
    tests: [SESSIONS],
  },
  {
    promise: 'S16',
    breaks: 'a disabled user keeps the session',
    file: 'src/accounts/sessions.ts',
    find: 'if (!row || row.disabled_at !== null) return undefined;',
    replace: 'if (!row) return undefined;',
    tests: [SESSIONS],
  },
  {
    promise: 'S17',
    breaks: 'text is not escaped',
    file: 'src/lib/html.ts',
    find: 'return escapeText(String(value));',
    replace: 'return String(value);',
    tests: [ESCAPING],
  },
  {
    promise: 'S17',
    breaks: 'quotes are not escaped',
    file: 'src/lib/html.ts',
    find: `/[&<>"']/g`,
    replace: '/[&<>]/g',
    tests: [ESCAPING],
  },
];
