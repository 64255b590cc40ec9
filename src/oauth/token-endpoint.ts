import type { Keyring } from '../lib/keyring.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import type { Storage } from '../storage/database.ts';
import { authenticateApp, type PresentedCredentials, presentsCredentials } from './app-authentication.ts';
import { exchangeCode } from './code-exchange.ts';
import { OAuthError } from './errors.ts';
import { type Introspection, introspect } from './introspection.ts';
import { refresh } from './refresh.ts';
import { revokeToken } from './revocation.ts';
import type { TokenResponse } from './token-response.ts';

/** The fields of a request body, by their names on the wire. An empty field counts as absent. */
export type Fields = Partial<Record<string, string>>;

export interface TokenParts {
  storage: Storage;
  keys: Keyring;
  issuer: string;
  retryWindow: number;
  limits: { perApp: RateLimit; wrongSecrets: RateLimit };
}

/** POST /api/v1/oauth/token */
export async function answerTokenRequest(
  parts: TokenParts,
  fields: Fields,
  credentials: PresentedCredentials,
  now: number,
): Promise<TokenResponse> {
  const type = require(fields, 'grant_type');
  const app = await identify(parts, credentials, now);
  switch (type) {
    case 'authorization_code':
      return exchangeCode(
        parts,
        app,
        { code: require(fields, 'code'), redirectUri: fields.redirect_uri, codeVerifier: fields.code_verifier },
        now,
      );
    case 'refresh_token':
      return refresh(parts, app, { refreshToken: require(fields, 'refresh_token'), scope: fields.scope }, now);
    default:
      throw new OAuthError('unsupported_grant_type', 'grant_type is authorization_code or refresh_token.');
  }
}

/** POST /api/v1/oauth/revoke */
export async function answerRevocation(
  parts: TokenParts,
  fields: Fields,
  credentials: PresentedCredentials,
  now: number,
): Promise<Record<string, never>> {
  const token = require(fields, 'token');
  const app = presentsCredentials(credentials) ? await identify(parts, credentials, now) : undefined;
  await revokeToken(parts, app, token, now);
  return {};
}

/** POST /api/v1/oauth/introspect */
export async function answerIntrospection(
  parts: TokenParts,
  fields: Fields,
  credentials: PresentedCredentials,
  now: number,
): Promise<Introspection> {
  const app = await identify(parts, credentials, now);
  const { storage, keys, issuer } = parts;
  return introspect({ db: storage.durable, keys, issuer }, app, require(fields, 'token'), now);
}

async function identify({ storage, limits }: TokenParts, credentials: PresentedCredentials, now: number) {
  const app = await authenticateApp(storage.durable, credentials, limits.wrongSecrets, now);
  await limits.perApp.count(app.id);
  return app;
}

function require(fields: Fields, name: string): string {
  const value = fields[name];
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`);
  return value;
}
