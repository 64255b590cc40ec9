import type { App } from '../apps/apps.ts';
import { SECOND } from '../lib/clock.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { Database } from '../storage/database.ts';
import { REFRESH_LIFETIME } from './grants.ts';
import { formatScopes } from './scopes.ts';
import { type ProvenToken, proveToken } from './token-proof.ts';
import { ACCESS_LIFETIME } from './token-response.ts';

/** RFC 7662 §2.2. */
export type Introspection =
  | { active: false }
  | {
      active: true;
      scope: string;
      client_id: string;
      token_type: 'bearer' | 'refresh_token';
      exp: number;
      iat: number;
      sub: string;
      iss: string;
      business_id: string;
    };

/** An app learns of its own tokens only; any other text, whatever is wrong with it, is simply not active. */
export async function introspect(
  { db, keys, issuer }: { db: Database; keys: Keyring; issuer: string },
  app: App,
  text: string,
  now: number,
): Promise<Introspection> {
  const access = await proveToken(db, keys, 'access', text);
  const proven = access ?? (await proveToken(db, keys, 'refresh', text));
  if (!proven || proven.grant.appId !== app.id || !isActive(proven, now)) return { active: false };
  const { token, grant } = proven;
  const lifetime = token.kind === 'access' ? ACCESS_LIFETIME : REFRESH_LIFETIME;
  return {
    active: true,
    scope: formatScopes(token.kind === 'access' ? token.scopes & grant.scopes : grant.scopes),
    client_id: app.id,
    token_type: token.kind === 'access' ? 'bearer' : 'refresh_token',
    exp: token.expiresAt / SECOND,
    iat: Math.floor(Math.min(token.expiresAt - lifetime, now) / SECOND),
    sub: grant.userId,
    iss: issuer,
    business_id: grant.businessId,
  };
}

function isActive({ token, grant }: ProvenToken, now: number): boolean {
  if (grant.deadBecause || now >= token.expiresAt) return false;
  if (token.kind === 'refresh') return token.rotation >= grant.rotation;
  return !grant.accessTokenRevoked;
}
