import type { App } from '../apps/apps.ts';
import { identifyApp, type PresentedCredentials, presentsCredentials } from './app-authentication.ts';
import { requireField } from './fields.ts';
import { revokeGrant } from './grants.ts';
import { revokeAccessToken } from './revoked-access-tokens.ts';
import type { RevocationRequest } from './schemas.ts';
import type { TokenParts } from './token-endpoint.ts';
import { type ProvenToken, proveEitherToken } from './token-proof.ts';

/** POST /api/v1/oauth/revoke */
export async function answerRevocation(
  parts: TokenParts,
  fields: Partial<RevocationRequest>,
  credentials: PresentedCredentials,
  now: number,
): Promise<Record<string, never>> {
  const token = requireField(fields, 'token');
  const app = presentsCredentials(credentials) ? await identifyApp(parts, credentials, now) : undefined;
  await revokeToken(parts, app, token, now);
  return {};
}

/**
 * RFC 7009. Holding the token is proof enough; an app that names itself as well can end only its own. A token that is
 * unknown, expired or foreign is left alone without a word: there is nothing in it to tell.
 */
async function revokeToken({ storage, keys, limits }: TokenParts, app: App | undefined, text: string, now: number) {
  const proven = await proveEitherToken(storage.durable, keys, text);
  if (!proven || !isRevocable(proven, app, now)) return;
  const { token, grant } = proven;
  if (!app) await limits.perApp.count(grant.appId);
  if (token.kind === 'refresh') await revokeGrant(storage, grant.id, 'revoked_by_app', now);
  else await revokeAccessToken(storage.durable, token);
}

function isRevocable({ token, grant }: ProvenToken, app: App | undefined, now: number): boolean {
  return now < token.expiresAt && (app === undefined || app.id === grant.appId);
}
