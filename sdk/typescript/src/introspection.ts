import type { Credentials } from './credentials.ts';
import { type ApiResponse, fieldsOf, invalidResponse } from './requests.ts';
import { IDEMPOTENT, send } from './retries.ts';
import { formatTime } from './times.ts';
import { splitScopes } from './tokens.ts';

/** The status of a token. One that is expired, revoked, unknown or of another app is not active. */
export type Introspection =
  | { active: false }
  | {
      active: true;
      /** `bearer` for an access token, `refresh_token` for a refresh token. */
      tokenType: string;
      scopes: string[];
      clientId: string;
      userId: string;
      businessId: string;
      /** The URL of the only resource at which it works, if that is not the business API. */
      audience?: string;
      /** ISO 8601, in UTC, like the other times. */
      issuedAt: string;
      expiresAt: string;
      /** When the user’s permission ends, if they allowed the app for a limited time. */
      grantExpiresAt?: string;
    };

export async function introspectToken(
  app: Credentials,
  token: string,
  signal: AbortSignal | undefined,
): Promise<Introspection> {
  const body = { token, ...app.fields };
  return readIntrospection(await send(app.connection, { path: '/api/v1/oauth/introspect', body, signal }, IDEMPOTENT));
}

function readIntrospection(response: ApiResponse): Introspection {
  const { active, token_type, scope, client_id, sub, business_id, aud, iat, exp, grant_expires_at } = fieldsOf(
    response.json,
  );
  if (active === false) return { active };
  const texts = [token_type, scope, client_id, sub, business_id];
  const [issuedAt, expiresAt, grantExpiresAt] = [iat, exp, grant_expires_at].map(readSeconds);
  const isValid = texts.every((each) => typeof each === 'string') && issuedAt !== undefined && expiresAt !== undefined;
  if (active !== true || !isValid) throw invalidResponse(response);
  return {
    active,
    tokenType: String(token_type),
    scopes: splitScopes(String(scope)),
    clientId: String(client_id),
    userId: String(sub),
    businessId: String(business_id),
    ...(typeof aud === 'string' && { audience: aud }),
    issuedAt,
    expiresAt,
    ...(grantExpiresAt !== undefined && { grantExpiresAt }),
  };
}

/** A NumericDate of RFC 7519: seconds since 1970. */
function readSeconds(value: unknown): string | undefined {
  return typeof value === 'number' ? formatTime(value * 1000) : undefined;
}
