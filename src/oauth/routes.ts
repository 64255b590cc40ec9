import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Clock } from '../lib/clock.ts';
import type { Keyring } from '../lib/keyring.ts';
import { rawQuery } from '../lib/query.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import type { Storage } from '../storage/storage.ts';
import type { PresentedCredentials } from './app-authentication.ts';
import { readAuthorizationRequest } from './authorization-request.ts';
import { type Access, readAccess } from './bearer.ts';
import { type Fields, withoutEmpty } from './fields.ts';
import { answerIntrospection } from './introspection.ts';
import { serverMetadata } from './metadata.ts';
import { answerRevocation } from './revocation.ts';
import { stamp } from './stamps.ts';
import { answerTokenRequest, type TokenParts } from './token-endpoint.ts';

export interface OAuthParts extends TokenParts {
  consentUrl: string;
  clock: Clock;
  limits: TokenParts['limits'] & BearerParts['limits'];
}

export interface BearerParts {
  storage: Storage;
  keys: Keyring;
  clock: Clock;
  limits: { perGrant: RateLimit };
}

/** Every field is text, sent once: a list, a number or null is refused before anything looks at it. */
const FIELDS = Type.Record(Type.String(), Type.String());

/** Everything that RFC 6749, 7009, 7662 and 8414 put on the API host. */
export function mountOAuth(host: FastifyInstance, parts: OAuthParts): void {
  const { storage, keys, issuer, clock } = parts;
  const endpoints = { token: answerTokenRequest, revoke: answerRevocation, introspect: answerIntrospection };

  for (const [name, answer] of Object.entries(endpoints)) {
    host.post<{ Body: Fields }>(`/api/v1/oauth/${name}`, { schema: { body: FIELDS } }, async (request, reply) => {
      // RFC 6749 §5.1: neither tokens nor what is said about them may be kept by a cache.
      reply.header('cache-control', 'no-store').header('pragma', 'no-cache');
      const fields = withoutEmpty(request.body);
      return answer(parts, fields, credentialsOf(request, fields), clock());
    });
  }

  // The browser's first stop. It is only checked here and sent on: this host knows no cookies, so it knows no user.
  host.get('/api/v1/oauth/authorize', async (request, reply) => {
    const query = rawQuery(request.url);
    await readAuthorizationRequest(storage.durable, query);
    return reply.redirect(`${parts.consentUrl}/consent?${stamp(keys, query, clock())}`, 303);
  });

  host.get('/.well-known/oauth-authorization-server', async () => serverMetadata(issuer));
}

/** Who calls the business API, and what they may do. */
export async function accessOf(
  { storage, keys, clock, limits }: BearerParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Access> {
  reply.header('cache-control', 'no-store');
  const { authorization } = request.headers;
  const inQuery = Object.hasOwn(request.query as object, 'access_token');
  const access = await readAccess({ db: storage.durable, keys }, { authorization, inQuery }, clock());
  await limits.perGrant.count(access.grantId);
  return access;
}

function credentialsOf(request: FastifyRequest, fields: Fields): PresentedCredentials {
  return {
    authorization: request.headers.authorization,
    clientId: fields.client_id,
    clientSecret: fields.client_secret,
    address: request.ip,
  };
}
