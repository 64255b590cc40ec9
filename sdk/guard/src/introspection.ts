import { type Access, otherResource, unknownToken } from './checks.ts';
import { type ApiResponse, type Connection, send } from './connection.ts';
import { type ErrorBody, type GuardError, invalidToken, type Rejection, unavailable } from './errors.ts';

/** The access of an active token, in seconds since 1970 until when; otherwise why it is not active. */
export type Verdict = { access: Access; exp: number } | { error: GuardError };

/** Throws a `GuardError` with status 503 if Gatehouse does not give a response. */
export async function introspect(connection: Connection, token: string, rejection: Rejection): Promise<Verdict> {
  const { scope } = rejection.target;
  const body = JSON.stringify({ token, scope, ...connection.credentials });
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  const call = { ...connection, rejection };
  const { status, json, retryAfter } = await request(call, '/api/v1/oauth/introspect', {
    method: 'POST',
    headers,
    body,
  });
  if (status === 200 && json.active === false) return { error: await findReason(call, token) };
  const { active, token_type, sub, client_id, business_id, scope: granted, exp, aud } = json;
  const texts = [sub, client_id, business_id, granted];
  const isReadable = texts.every((text) => typeof text === 'string') && typeof exp === 'number';
  if (status !== 200 || active !== true || token_type !== 'bearer' || !isReadable) {
    throw fail(call, `Introspection: ${describe(status, json)}`, retryAfter);
  }
  // Gatehouse names an audience only if it is not the business API, whose part the guarded API is (RFC 8707).
  if (aud !== undefined && aud !== `${connection.issuer}/api/v1`) return { error: otherResource(rejection) };
  const scopes = Object.freeze(String(granted).split(' ').filter(Boolean));
  const parties = { userId: String(sub), appId: String(client_id), businessId: String(business_id) };
  return { access: Object.freeze({ ...parties, scopes }), exp };
}

/** Introspection does not say why a token is not active (RFC 7662 §2.2). The owner of the token may know. */
async function findReason(call: Call, token: string): Promise<GuardError> {
  const headers = { accept: 'application/json', authorization: `Bearer ${token}` };
  const { status, json, retryAfter } = await request(call, '/api/v1/me', { headers });
  if (status === 401 && isInvalidToken(json)) return invalidToken(call.rejection, json.reason, json.error_description);
  // The token is active, and these credentials may not introspect it.
  if (status === 200) return unknownToken(call.rejection, token);
  throw fail(call, `Reason of an inactive token: ${describe(status, json)}`, retryAfter);
}

type Call = Connection & { rejection: Rejection };

async function request(call: Call, path: string, init: RequestInit): Promise<ApiResponse> {
  try {
    return await send(call, path, init);
  } catch (error) {
    throw fail(call, (error as Error).message, null);
  }
}

function fail({ onError, rejection }: Call, message: string, retryAfter: string | null): GuardError {
  onError(new Error(message));
  return unavailable(rejection, retryAfter !== null && /^\d{1,5}$/.test(retryAfter) ? retryAfter : '1');
}

/** Only codes: a description from elsewhere could repeat what was sent. */
function describe(status: number, { error, reason }: Record<string, unknown>): string {
  const codes = [error, reason].filter((text) => typeof text === 'string' && /^[a-z_]{1,64}$/.test(text));
  return `${[`status ${status}`, ...codes].join(', ')}.`;
}

/** Only characters that a quoted string of a header can contain. */
function isInvalidToken(json: Record<string, unknown>): json is Record<string, unknown> & ErrorBody {
  const texts = [json.error_description, json.reason];
  return (
    json.error === 'invalid_token' &&
    texts.every((text) => typeof text === 'string' && /^[\x20-\x7e]*$/.test(text) && !/["\\]/.test(text))
  );
}
