import type { Mutation } from './mutation.ts';

const ATTACKS = 'test/http/oauth/client-metadata-attacks.test.ts';
const DOCUMENTS = 'test/http/oauth/client-metadata.test.ts';
const EXTERNAL_REDIRECTS = 'test/http/oauth/external-redirects.test.ts';
const REGISTRATION = 'test/http/oauth/registration.test.ts';
const PUBLIC_APPS = 'test/http/oauth/public-apps.test.ts';
const RESOURCES = 'test/http/oauth/resources.test.ts';
const TOOLS = 'test/http/mcp/tenancy.test.ts';
const PROTOCOL = 'test/http/mcp/protocol.test.ts';

/** Resources, and clients that are not registered by a developer. */
export const AGENT_MUTATIONS: Mutation[] = [
  {
    promise: 'G2',
    breaks: 'a token works at every resource',
    file: 'src/oauth/bearer.ts',
    find: 'rejectOtherResource(grant.resource, target.resource);',
    replace: '',
    tests: [RESOURCES],
  },
  {
    promise: 'G2',
    breaks: 'a grant does not keep the requested resource',
    file: 'src/oauth/authorize/response.ts',
    find: '...allowed, resource, redirectUri, codeChallenge };',
    replace: '...allowed, resource: null, redirectUri, codeChallenge };',
    tests: [RESOURCES],
  },
  {
    promise: 'G2',
    breaks: 'an exchange may name another resource',
    file: 'src/oauth/token/exchange.ts',
    find: 'if (exchange.resource !== undefined) rejectOtherResource(',
    replace: 'if (false) rejectOtherResource(',
    tests: [RESOURCES],
  },
  {
    promise: 'G2',
    breaks: 'a refresh may name another resource',
    file: 'src/oauth/token/refresh.ts',
    find: 'if (request.resource !== undefined) rejectOtherResource(',
    replace: 'if (false) rejectOtherResource(',
    tests: [RESOURCES],
  },
  {
    promise: 'G2',
    breaks: 'introspection does not say where a token works',
    file: 'src/oauth/introspect.ts',
    find: '...(grant.resource !== null && { aud: resourceUri(issuer, grant.resource) }),',
    replace: '',
    tests: [RESOURCES],
  },
  {
    promise: 'G2',
    breaks: 'the address of a business serves tokens for any business',
    file: 'src/mcp/routes.ts',
    find: 'return mcpResource(businessId?.toLowerCase());',
    replace: 'return mcpResource();',
    tests: [TOOLS],
  },
  {
    promise: 'G4',
    breaks: 'a tool runs without its scope',
    file: 'src/mcp/routes.ts',
    find: 'requireScope(issuer, request.access as Access, endpoint.scope);',
    replace: '',
    tests: [TOOLS],
  },
  {
    promise: 'G4',
    breaks: 'a page of any origin may call tools',
    file: 'src/mcp/routes.ts',
    find: 'if (!allowed.has(origin)) throw originNotAllowed();',
    replace: '',
    tests: [PROTOCOL],
  },
  {
    promise: 'T9',
    breaks: 'a public app may leave PKCE out',
    file: 'src/apps/app.ts',
    find: 'settings.requiresPkce || isPublic ? 1 : 0',
    replace: 'settings.requiresPkce ? 1 : 0',
    tests: [PUBLIC_APPS],
  },
  {
    promise: 'I1',
    breaks: 'a public app introspects by its name alone',
    file: 'src/oauth/client-authentication.ts',
    find: 'if (!authenticated.client.isPublic) return authenticated;',
    replace: 'return authenticated;',
    tests: [PUBLIC_APPS],
  },
  {
    promise: 'G1',
    breaks: 'a document may describe another client_id',
    file: 'src/apps/client-metadata-documents.ts',
    find: 'if (fields.client_id !== url) throw',
    replace: 'if (false) throw',
    tests: [ATTACKS],
  },
  {
    promise: 'G1',
    breaks: 'documents are fetched from loopback addresses',
    file: 'src/apps/client-metadata-documents.ts',
    find: 'timeout, allowsLoopback };',
    replace: 'timeout, allowsLoopback: true };',
    tests: [ATTACKS],
  },
  {
    promise: 'G1',
    breaks: 'a document of any length is read',
    file: 'src/apps/client-metadata-documents.ts',
    find: 'MAX_LENGTH = 16 * 1024',
    replace: 'MAX_LENGTH = 16 * 1024 * 1024',
    tests: [ATTACKS],
  },
  {
    promise: 'G1',
    breaks: 'a document with another status is used',
    file: 'src/apps/client-metadata-documents.ts',
    find: 'if (status !== 200)',
    replace: 'if (false)',
    tests: [ATTACKS],
  },
  {
    promise: 'G1',
    breaks: 'a document of any host is accepted',
    file: 'src/apps/client-metadata-documents.ts',
    find: "if (hosts === 'any' || hosts.includes(url.hostname)) return;",
    replace: 'return;',
    tests: [DOCUMENTS],
  },
  {
    promise: 'G1',
    breaks: 'any redirect URI of an external client is accepted',
    file: 'src/apps/redirect-uris.ts',
    find: 'return isRegistered(registered, sent) || registered.some(',
    replace: 'return true || registered.some(',
    tests: [DOCUMENTS],
  },
  {
    promise: 'G3',
    breaks: 'the signature of a dynamic client_id is not checked',
    file: 'src/apps/dynamic-client-ids.ts',
    find: 'const signed = decodeSigned<SignedMetadata>(keys, PURPOSE, clientId.slice(PREFIX.length));',
    replace:
      "const signed = keys && decodeSigned && (JSON.parse(Buffer.from(clientId.slice(PREFIX.length).split('.')[0] || 'bnVsbA', 'base64url').toString()) as SignedMetadata);",
    tests: [REGISTRATION],
  },
  {
    promise: 'G3',
    breaks: 'an external client gets errors at its redirect URI before the sign-in',
    file: 'src/oauth/authorize/request.ts',
    find: "if (app.ownerScope !== 'external') return new CallbackError(callback, error, rejected);",
    replace: 'if (app) return new CallbackError(callback, error, rejected);',
    tests: [DOCUMENTS],
  },
  {
    promise: 'G5',
    breaks: 'an external app gets its errors by redirect from users who have never allowed it',
    file: 'src/web/consent/refusal.ts',
    find: "const isRegisteredHere = app.ownerScope !== 'external';",
    replace: 'const isRegisteredHere = true;',
    tests: [EXTERNAL_REDIRECTS],
  },
  {
    promise: 'G5',
    breaks: 'an external app that one user has allowed gets its errors by redirect from all users',
    file: 'src/grants/allowed-apps.ts',
    find: ".where('consents.user_id', '=', userId)",
    replace: ".where('consents.user_id', userId ? 'is not' : 'is', null)",
    tests: [EXTERNAL_REDIRECTS],
  },
  {
    promise: 'G3',
    breaks: 'an external client may use the business API',
    file: 'src/oauth/authorize/request.ts',
    find: "if (app.ownerScope !== 'external' || resource !== null) return resource;",
    replace: 'return resource;',
    tests: [DOCUMENTS],
  },
];
