import type { Mutation } from './mutation.ts';

const REVOKE = 'test/http/oauth/revoke.test.ts';
const INTROSPECT = 'test/http/oauth/introspect.test.ts';
const INTROSPECTION_CLIENTS = 'test/http/oauth/introspection-clients.test.ts';
const FAILURES = 'test/http/oauth/storage-failure.test.ts';

/** Revocation and introspection. */
export const REVOKE_MUTATIONS: Mutation[] = [
  {
    promise: 'R1',
    breaks: 'credentials beside the token are not checked',
    file: 'src/oauth/revoke.ts',
    find: 'presentsSecret(credentials);',
    replace: 'false;',
    tests: [REVOKE],
  },
  {
    promise: 'R1',
    breaks: 'another method is a 404',
    file: 'src/http/error-handler.ts',
    find: 'status: 405',
    replace: 'status: 404',
    tests: ['test/http/oauth/request-bodies.test.ts'],
  },
  {
    promise: 'R2',
    breaks: 'an unknown token is an error',
    file: 'src/oauth/revoke.ts',
    find: 'if (!verified || !isRevocable(',
    replace: "if (!verified) throw new Error('unknown');\n  if (!isRevocable(",
    tests: [REVOKE],
  },
  {
    promise: 'R3',
    breaks: 'an app can revoke the token of another',
    file: 'src/oauth/revoke.ts',
    find: '(appId === undefined || appId === grant.appId)',
    replace: 'true',
    tests: [REVOKE],
  },
  {
    promise: 'R3',
    breaks: 'a client_id without a secret is ignored',
    file: 'src/oauth/revoke.ts',
    find: 'appId: client?.id ?? named,',
    replace: 'appId: client?.id,',
    tests: [REVOKE],
  },
  {
    promise: 'R4',
    breaks: 'revoking a refresh token leaves the grant active',
    file: 'src/oauth/revoke.ts',
    find: "if (token.kind === 'refresh') await revokeByApp",
    replace: 'if (false) await revokeByApp',
    tests: [REVOKE],
  },
  {
    promise: 'R5',
    breaks: 'a revocation that could not be stored is a 200',
    file: 'src/oauth/revoke.ts',
    find: 'await revokeAccessToken(storage.durable, token, now);',
    replace: 'await revokeAccessToken(storage.durable, token, now).catch(() => {});',
    tests: [FAILURES],
  },
  {
    promise: 'R6',
    breaks: 'a refresh that was on its way clears the revocation',
    file: 'src/grants/grants.ts',
    find: `rotated_at, refresh_expires_at })
    .where('id', '=', id)
    .where('rotation', '=', from)
    .where('revoked_at', 'is', null);`,
    replace: `rotated_at, refresh_expires_at, revoked_at: null, revoked_reason: null })
    .where('id', '=', id)
    .where('rotation', '=', from);`,
    tests: [REVOKE],
  },
  {
    promise: 'R6',
    breaks: 'a refresh that was on its way clears the revocation, on PostgreSQL',
    file: 'src/grants/grants.ts',
    find: `rotated_at, refresh_expires_at })
    .where('id', '=', id)
    .where('rotation', '=', from)
    .where('revoked_at', 'is', null);`,
    replace: `rotated_at, refresh_expires_at, revoked_at: null, revoked_reason: null })
    .where('id', '=', id)
    .where('rotation', '=', from);`,
    tests: [REVOKE],
    database: 'postgres',
  },
  {
    promise: 'I1',
    breaks: 'introspection responses may be cached',
    file: 'src/oauth/routes.ts',
    find: "reply.header('cache-control', 'no-store').header('pragma', 'no-cache');",
    replace: "if (path !== 'introspect') reply.header('cache-control', 'no-store').header('pragma', 'no-cache');",
    tests: [INTROSPECT],
  },
  {
    promise: 'I1',
    breaks: 'the requests of an app are not counted',
    file: 'src/oauth/client-authentication.ts',
    find: 'await limits.perApp.count(isPublic ? `$' + '{appId} $' + '{network}` : appId);',
    replace: '',
    tests: ['test/http/oauth/rate-limit.test.ts'],
  },
  {
    promise: 'I2',
    breaks: 'a spent refresh token is active',
    file: 'src/oauth/introspect.ts',
    find: 'return token.rotation >= grant.rotation;',
    replace: 'return true;',
    tests: [INTROSPECT],
  },
  {
    promise: 'I3',
    breaks: 'an app can introspect the token of another',
    file: 'src/oauth/introspect.ts',
    find: '(readsAllTokens(deps, client) && token.kind',
    replace: '(token.kind',
    tests: [INTROSPECT],
  },
  {
    promise: 'I3',
    breaks: 'a first-party app needs no setting to introspect the tokens of others',
    file: 'src/oauth/introspect.ts',
    find: 'client.isFirstParty && introspectionClients.has(client.id)',
    replace: 'client.isFirstParty',
    tests: [INTROSPECTION_CLIENTS],
  },
  {
    promise: 'I3',
    breaks: 'a third-party app can introspect the tokens of others',
    file: 'src/oauth/introspect.ts',
    find: 'client.isFirstParty && introspectionClients.has(client.id)',
    replace: 'introspectionClients.has(client.id)',
    tests: [INTROSPECTION_CLIENTS],
  },
  {
    promise: 'I4',
    breaks: 'a token of a disabled user is active',
    file: 'src/oauth/introspect.ts',
    find: 'grant.inactiveReason || now',
    replace: 'now',
    tests: [INTROSPECT],
  },
  {
    promise: 'I4',
    breaks: 'a revoked access token is active',
    file: 'src/oauth/introspect.ts',
    find: 'return !isRevoked(grant, token);',
    replace: 'return true;',
    tests: [INTROSPECT],
  },
];
