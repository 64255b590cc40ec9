import type { App } from '../apps/apps.ts';
import { LAST_USED_PRECISION, useSecret } from '../apps/secrets.ts';
import { type Grant, grantFrom, selectGrants } from '../grants/status.ts';
import { isId } from '../lib/ids.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import { hashSecret, sameText } from '../lib/secrets.ts';
import type { RequestContext } from '../request-log/log.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database, Storage } from '../storage/storage.ts';
import { InvalidClient, OAuthError } from './errors.ts';
import { type DecodedToken, type VerifiedToken, verifyToken } from './tokens.ts';

/** What a request presents to authenticate its client (RFC 6749 §2.3). */
export interface ClientCredentials {
  authorization: string | undefined;
  clientId: string | undefined;
  clientSecret: string | undefined;
  address: string;
  /** Receives the id of the app, for the request log. */
  context: RequestContext;
}

export interface AuthenticatedClient extends Pick<App, 'id' | 'redirectUris'> {
  /** Whether it is an active app of the platform. */
  isFirstParty: boolean;
}

interface AuthenticationDeps {
  storage: Storage;
  limits: { perApp: RateLimit; wrongSecrets: RateLimit };
}

/**
 * Authenticates the client, verifies the token that it sends if there is one, and counts the request. The response to an
 * unknown client and to a wrong secret is the same.
 */
export async function authenticateClient(
  { storage, limits }: AuthenticationDeps,
  presented: ClientCredentials,
  token: DecodedToken | undefined,
  now: number,
): Promise<{ client: AuthenticatedClient; verified: VerifiedToken | undefined }> {
  const { clientId, clientSecret, usedBasic } = readCredentials(presented);
  const network = networkOf(presented.address);
  await limits.wrongSecrets.check(`${clientId.toLowerCase()} ${network}`);
  const { rows, grant } = await loadClientAndGrant(storage.durable, clientId, token);
  const [found] = rows;
  const hash = hashSecret(clientSecret);
  const secret = rows.find(({ secret_hash }) => secret_hash !== null && sameText(secret_hash, hash));
  if (!secret) await countWrongSecret(limits.wrongSecrets, found?.client_id, network);
  // The developer sees requests with a wrong secret, too.
  if (found) presented.context.appId = found.client_id;
  if (!secret?.secret_id) {
    throw new InvalidClient(
      'credentials_wrong',
      "No app has this client_id and client_secret. Copy both from the app's page, or add a new secret there.",
      { usedBasic },
    );
  }
  if (now - (secret.secret_used_at ?? 0) >= LAST_USED_PRECISION)
    await useSecret(storage.durable, secret.secret_id, now);
  await limits.perApp.count(secret.client_id);
  const isActive = secret.client_disabled_at === null && secret.client_paused_at === null;
  const client = {
    id: secret.client_id,
    redirectUris: JSON.parse(secret.client_redirect_uris),
    isFirstParty: secret.client_owner === 'platform' && isActive,
  };
  return { client, verified: token && verifyToken(token, grant) };
}

/** One row per secret of the client. */
interface ClientRow {
  client_id: string;
  client_redirect_uris: string;
  client_owner: App['ownerScope'];
  client_disabled_at: number | null;
  client_paused_at: number | null;
  secret_id: string | null;
  secret_hash: string | null;
  secret_used_at: number | null;
}

/** In one query. No rows if there is no such client; no grant if there is no token, or no grant for it any more. */
async function loadClientAndGrant(
  db: Database,
  clientId: string,
  token: DecodedToken | undefined,
): Promise<{ rows: ClientRow[]; grant: Grant | undefined }> {
  if (!isId(clientId)) return { rows: [], grant: undefined };
  if (token) {
    const { rows } = await readClientAndGrant(db, { clientId, grantId: token.grantId, rotation: token.rotation });
    if (rows[0]) return { rows, grant: grantFrom(rows[0]) };
  }
  const { rows } = await readClient(db, { clientId });
  return { rows, grant: undefined };
}

const CLIENT_COLUMNS = [
  'client.id as client_id',
  'client.redirect_uris as client_redirect_uris',
  'client.owner_scope as client_owner',
  'client.disabled_at as client_disabled_at',
  'client.paused_at as client_paused_at',
  'app_secrets.id as secret_id',
  'app_secrets.secret_hash',
  'app_secrets.last_used_at as secret_used_at',
] as const;

const readClientAndGrant = preparedQuery(
  (db, { clientId, grantId, rotation }: { clientId: string; grantId: string; rotation: number }) =>
    selectGrants(db, rotation)
      .innerJoin('apps as client', (join) => join.on('client.id', '=', clientId).on('client.deleted_at', 'is', null))
      .leftJoin('app_secrets', 'app_secrets.app_id', 'client.id')
      .select(CLIENT_COLUMNS)
      // Kysely types them as nullable because `apps`, joined for the grant, is; an inner join always has them.
      .$narrowType<Pick<ClientRow, 'client_id' | 'client_redirect_uris' | 'client_owner'>>()
      .where('grants.id', '=', grantId),
);

const readClient = preparedQuery((db, { clientId }: { clientId: string }) =>
  db
    .selectFrom('apps as client')
    .leftJoin('app_secrets', 'app_secrets.app_id', 'client.id')
    .select(CLIENT_COLUMNS)
    .where('client.id', '=', clientId)
    .where('client.deleted_at', 'is', null),
);

/**
 * Counted by network, and by app and network. All client ids without an app share one counter: a caller can invent any
 * number of them, and each counter is a row where several nodes count together.
 */
async function countWrongSecret(limit: RateLimit, appId: string | undefined, network: string): Promise<void> {
  await limit.count(network);
  await limit.count(`${appId ?? 'unknown'} ${network}`);
}

/** False for a `client_id` alone: it names an app and does not authenticate it. */
export function presentsSecret({ authorization, clientSecret }: ClientCredentials): boolean {
  return authorization !== undefined || clientSecret !== undefined;
}

interface Credentials {
  clientId: string;
  clientSecret: string;
  usedBasic: boolean;
}

function readCredentials({ authorization, clientId, clientSecret }: ClientCredentials): Credentials {
  if (authorization !== undefined) {
    const basic = readBasic(authorization);
    if (clientSecret !== undefined || (clientId !== undefined && clientId !== basic.clientId)) {
      throw new OAuthError(
        'invalid_request',
        'credentials_sent_twice',
        'Send the credentials in the body or by HTTP Basic, not both ways.',
      );
    }
    return basic;
  }
  if (clientId === undefined || clientSecret === undefined) {
    const missing = clientId === undefined ? 'client_id' : 'client_secret';
    throw new InvalidClient(
      'credentials_missing',
      `${missing} is missing. Send client_id and client_secret in the body, or by HTTP Basic.`,
      { usedBasic: false },
    );
  }
  return { clientId, clientSecret, usedBasic: false };
}

/** RFC 6749 §2.3.1: each half is form-encoded before the two are joined. */
function readBasic(authorization: string): Credentials {
  const [, encoded] = /^Basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization) ?? [];
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString()) ?? [];
  if (id === undefined || secret === undefined) {
    throw new InvalidClient(
      'credentials_malformed',
      'The Authorization header is not HTTP Basic with client_id and client_secret.',
      { usedBasic: true },
    );
  }
  return { clientId: formDecode(id), clientSecret: formDecode(secret), usedBasic: true };
}

function formDecode(text: string): string {
  return new URLSearchParams(`v=${text.replaceAll('&', '%26')}`).get('v') ?? '';
}
