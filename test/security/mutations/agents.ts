import type { Mutation } from './mutation.ts';

const RESOURCES = 'test/http/oauth/resources.test.ts';

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
    breaks: 'a grant forgets the resource that was asked for',
    file: 'src/oauth/authorize/response.ts',
    find: 'scopes, resource, redirectUri, codeChallenge };',
    replace: 'scopes, resource: null, redirectUri, codeChallenge };',
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
];
