import { REDIRECT_URI, SCOPE } from '../seed.ts';
import { CLIENT } from './peer.ts';

export const REALM = 'bench';
export const PASSWORD = 'correct horse battery';

/** The name and the id of a user. */
export function userAt(index: number): string {
  return `person-${index}`;
}

/**
 * The realm that Keycloak imports at its start:
 * - Refresh tokens rotate, and tokens last as long as those of Gatehouse.
 * - The app needs consent, which Keycloak stores.
 * - Passwords are hashed once, because many sessions are prepared, and signing in is not measured.
 * - No login events, which are off by default, too.
 */
export function realm(users: number) {
  return {
    realm: REALM,
    enabled: true,
    sslRequired: 'none',
    accessTokenLifespan: 3600,
    accessCodeLifespan: 600,
    ssoSessionIdleTimeout: 14 * 86400,
    ssoSessionMaxLifespan: 30 * 86400,
    revokeRefreshToken: true,
    refreshTokenMaxReuse: 0,
    passwordPolicy: 'hashAlgorithm(pbkdf2-sha256) and hashIterations(1)',
    clientScopes: [{ name: SCOPE, protocol: 'openid-connect', attributes: { 'include.in.token.scope': 'true' } }],
    clients: [
      {
        clientId: CLIENT.id,
        secret: CLIENT.secret,
        redirectUris: [REDIRECT_URI],
        clientAuthenticatorType: 'client-secret',
        standardFlowEnabled: true,
        consentRequired: true,
        defaultClientScopes: [],
        optionalClientScopes: [SCOPE],
        attributes: { 'pkce.code.challenge.method': 'S256' },
      },
    ],
    users: Array.from({ length: users }, (_, index) => ({
      id: userAt(index),
      username: userAt(index),
      email: `${userAt(index)}@example.com`,
      emailVerified: true,
      firstName: 'Person',
      lastName: String(index),
      enabled: true,
      credentials: [{ type: 'password', value: PASSWORD }],
    })),
  };
}
