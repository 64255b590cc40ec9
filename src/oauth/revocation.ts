import type { App } from '../apps/apps.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import type { Storage } from '../storage/database.ts';
import { revokeGrant } from './grants.ts';
import { revokeAccessToken } from './revoked-access-tokens.ts';
import { type ProvenToken, proveToken } from './token-proof.ts';

/**
 * RFC 7009. Holding the token is proof enough; an app that names itself as well can end only its own. A token that is
 * unknown, expired or foreign is left alone without a word: there is nothing in it to tell.
 */
export async function revokeToken(
  { storage, keys, limits }: { storage: Storage; keys: Keyring; limits: { perApp: RateLimit } },
  app: App | undefined,
  text: string,
  now: number,
): Promise<void> {
  const proven =
    (await proveToken(storage.durable, keys, 'refresh', text)) ??
    (await proveToken(storage.durable, keys, 'access', text));
  if (!proven || !isRevocable(proven, app, now)) return;
  const { token, grant } = proven;
  if (!app) await limits.perApp.count(grant.appId);
  if (token.kind === 'refresh') await revokeGrant(storage, grant.id, 'revoked_by_app', now);
  else await revokeAccessToken(storage.durable, token);
}

function isRevocable({ token, grant }: ProvenToken, app: App | undefined, now: number): boolean {
  return now < token.expiresAt && (app === undefined || app.id === grant.appId);
}
