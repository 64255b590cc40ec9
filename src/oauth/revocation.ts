import type { App } from '../apps/apps.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { Storage } from '../storage/database.ts';
import { revokeGrant } from './grants.ts';
import { revokeAccessToken } from './revoked-access-tokens.ts';
import { type ProvenToken, proveToken } from './token-proof.ts';

/**
 * RFC 7009. Holding the token is proof enough; an app that names itself as well can end only its own. A token that is
 * unknown, expired or foreign is left alone without a word: there is nothing in it to tell.
 */
export async function revokeToken(
  { storage, keys }: { storage: Storage; keys: Keyring },
  app: App | undefined,
  text: string,
  now: number,
): Promise<void> {
  const refreshToken = await proveToken(storage.durable, keys, 'refresh', text);
  if (refreshToken && isRevocable(refreshToken, app, now)) {
    await revokeGrant(storage, refreshToken.grant.id, 'revoked_by_app', now);
  }
  const accessToken = await proveToken(storage.durable, keys, 'access', text);
  if (accessToken && isRevocable(accessToken, app, now)) {
    await revokeAccessToken(storage.durable, accessToken.token);
  }
}

function isRevocable({ token, grant }: ProvenToken, app: App | undefined, now: number): boolean {
  return now < token.expiresAt && (app === undefined || app.id === grant.appId);
}
