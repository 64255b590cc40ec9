import type { Mutation } from './mutation.ts';

const BEARER = 'test/http/business/bearer.test.ts';
const TENANCY = 'test/http/business/tenancy.test.ts';
const ENDPOINTS = 'test/http/tenancy/api.test.ts';
const READ_ONLY = 'test/http/tenancy/read-only-fields.test.ts';
const METADATA = 'test/http/oauth/metadata.test.ts';
const DEAD = 'test/http/oauth/ended-grants.test.ts';

/** The business API. */
export const API_MUTATIONS: Mutation[] = [
  {
    promise: 'P1',
    breaks: 'a request without a token gets the error of an invalid one',
    file: 'src/oauth/bearer.ts',
    find: 'headers: bearerChallenge({})',
    replace: "headers: bearerChallenge({ error: 'invalid_token' })",
    tests: [BEARER],
  },
  {
    promise: 'P2',
    breaks: 'an expired access token works',
    file: 'src/oauth/bearer.ts',
    find: 'if (now >= token.expiresAt) {',
    replace: 'if (false) {',
    tests: [BEARER],
  },
  {
    promise: 'P2',
    breaks: 'a revoked access token works',
    file: 'src/oauth/bearer.ts',
    find: 'if (isRevoked(grant, token)) {',
    replace: 'if (false) {',
    tests: [BEARER],
  },
  {
    promise: 'P3',
    breaks: 'no scope is needed',
    file: 'src/oauth/bearer.ts',
    find: 'if (access.scopes.includes(scope)) return;',
    replace: 'return;',
    tests: [BEARER],
  },
  {
    promise: 'P4',
    breaks: 'a token in the address beside the header is ignored',
    file: 'src/oauth/bearer.ts',
    find: 'if (inQuery) throw tokenInQuery();',
    replace: '',
    tests: [BEARER],
  },
  {
    promise: 'P5',
    breaks: 'a refresh token works as an access token',
    file: 'src/oauth/bearer.ts',
    find: "const token = decodeToken(keys, 'access', text);",
    replace: "const token = decodeToken(keys, 'access', text) ?? decodeToken(keys, 'refresh', text);",
    tests: [BEARER],
  },
  {
    promise: 'P6',
    breaks: 'a token acts in any business',
    file: 'src/oauth/bearer.ts',
    find: 'if (selected === access.businessId) return access.businessId;',
    replace: 'if (selected && isId(selected)) return selected;',
    tests: [TENANCY],
  },
  {
    promise: 'P7',
    breaks: 'without x-business-id the business of the token is taken',
    file: 'src/oauth/bearer.ts',
    find: 'if (selected === access.businessId) return',
    replace: 'if (selected === undefined || selected === access.businessId) return',
    tests: [TENANCY],
  },
  {
    promise: 'P8',
    breaks: 'invoices of every business are listed',
    file: 'src/business/pages.ts',
    find: `      .where('business_id', '=', values.businessId as string);`,
    replace: `      .where('business_id', '!=', '0190a6c6-0000-7000-8000-000000000000');`,
    tests: [TENANCY],
  },
  {
    promise: 'P10',
    breaks: 'a removed member is not noticed',
    file: 'src/grants/status.ts',
    find: "holds: eb('memberships.created_at', 'is not', null)",
    replace: "holds: eb('grants.id', 'is not', null)",
    tests: [TENANCY, DEAD],
  },
  {
    promise: 'P11',
    breaks: 'a field that a record does not have is accepted',
    file: 'src/business/validation.ts',
    find: 'additionalProperties: false,',
    replace: 'additionalProperties: true,',
    tests: [ENDPOINTS],
  },
  {
    promise: 'P11',
    breaks: 'a form can name another member than its address',
    file: 'src/web/settings/member.ts',
    find: 'const change = { userId: member.id,',
    replace: "const change = { userId: text(request.body, 'user') || member.id,",
    tests: [READ_ONLY],
  },
  {
    promise: 'P12',
    breaks: 'any origin may call with credentials',
    file: 'src/http/cors.ts',
    find: ".header('access-control-allow-origin', '*')",
    replace: ".header('access-control-allow-origin', '*').header('access-control-allow-credentials', 'true')",
    tests: [METADATA],
  },
];
