import { challenge, invalidToken, type Rejection } from './errors.ts';

/** What an access token permits: some scopes, for one user, app and business. */
export interface Access {
  readonly userId: string;
  readonly appId: string;
  readonly businessId: string;
  readonly scopes: readonly string[];
}

/** The headers of Node, with names in lower case, or of `fetch`. */
export type RequestHeaders =
  | { readonly [name: string]: string | readonly string[] | undefined }
  | { get(name: string): string | null };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const OTHER_KINDS: Record<string, string> = { gac_: 'a code (gac_...)', grt_: 'a refresh token (grt_...)' };

/** RFC 6750 §2.1 and §3.1. The token is taken from the header and nowhere else. */
export function readToken(rejection: Rejection, headers: RequestHeaders, url: string): string {
  const authorization = headerOf(headers, 'authorization') ?? '';
  const [, token] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
  if (token === undefined && !/^Bearer( |$)/i.test(authorization)) {
    const description = 'Send the access token: Authorization: Bearer <access token>.';
    const headers = challenge(rejection.target);
    throw rejection.reject({ status: 401, error: 'unauthorized', reason: 'token_missing', description, headers });
  }
  if (hasTokenIn(url)) throw tokenInAddress(rejection);
  if (token === undefined) {
    throw invalidToken(rejection, 'token_malformed', 'The header reads: Authorization: Bearer <access token>.');
  }
  if (!token.startsWith('gat_')) throw unknownToken(rejection, token);
  return token;
}

function hasTokenIn(url: string): boolean {
  const [, query = ''] = /\?([^#]*)/.exec(url) ?? [];
  return new URLSearchParams(query).getAll('access_token').some((value) => value !== '');
}

function tokenInAddress({ reject }: Rejection) {
  const error = 'invalid_request';
  const description = 'Send the access token in the Authorization header only, not in the address.';
  const headers = challenge({ error, error_description: description });
  return reject({ status: 400, error, reason: 'token_in_address', description, headers });
}

/** Without a request to Gatehouse if it is of another kind. */
export function unknownToken(rejection: Rejection, token: string) {
  const other = OTHER_KINDS[token.slice(0, 4)];
  if (other) {
    const description = `This is ${other}; send an access token (gat_...) here.`;
    return invalidToken(rejection, 'token_of_another_kind', description);
  }
  const description =
    'This is not an access token (gat_...) of this server, or it ended so long ago that its record was deleted.';
  return invalidToken(rejection, 'token_unknown', description);
}

export function otherResource(rejection: Rejection) {
  const description = 'This token is for another resource of this server. Request one with the resource of this URL.';
  return invalidToken(rejection, 'token_for_other_resource', description);
}

export function requireScope({ reject, target }: Rejection, access: Access): void {
  const { scope } = target;
  if (access.scopes.includes(scope)) return;
  const error = 'insufficient_scope';
  const description = `This needs the scope ${scope}, which this token does not have. Request it at the authorize endpoint.`;
  const headers = challenge({ error, error_description: description, ...target });
  throw reject({ status: 403, error, reason: error, description, headers });
}

/** The header selects a business and grants nothing. The response does not reveal whether another business exists. */
export function requireBusiness({ reject }: Rejection, access: Access, headers: RequestHeaders): void {
  const selected = headerOf(headers, 'x-business-id')?.toLowerCase();
  if (selected === access.businessId) return;
  if (selected === undefined || !UUID.test(selected)) {
    const description = 'Send the header x-business-id once, with the UUID of the business.';
    throw reject({ status: 400, error: 'invalid_request', reason: 'business_id_malformed', description });
  }
  const error = 'business_mismatch';
  const description = 'This token does not act in that business. GET /api/v1/businesses says which one it acts in.';
  throw reject({ status: 403, error, reason: error, description });
}

/** A repeated header is joined with commas, which neither a token nor a UUID contains. */
function headerOf(headers: RequestHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined;
  const value = (headers as Record<string, string | string[] | undefined>)[name];
  return Array.isArray(value) ? value.join(', ') : value;
}
