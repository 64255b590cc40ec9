import { type ExpressionBuilder, sql } from 'kysely';
import type { App } from '../apps/apps.ts';
import { appIdOf } from '../apps/client-ids.ts';
import { LAST_USED_PRECISION, useSecret } from '../apps/secrets.ts';
import { type Grant, grantFrom, selectGrants } from '../grants/grant.ts';
import { isId } from '../lib/ids.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import { hashSecret, sameText } from '../lib/secrets.ts';
import type { RequestContext } from '../request-log/log.ts';
import { batchedQuery } from '../storage/batched-query.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database, Storage } from '../storage/storage.ts';
import type { Tables } from '../storage/tables.ts';
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

export interface AuthenticatedClient extends Pick<App, 'id' | 'isPublic'> {
  /** Whether it is an active, confidential app of the platform. */
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
  const credentials = readCredentials(presented);
  const { clientId, clientSecret } = credentials;
  const appId = isId(clientId) ? clientId : appIdOf(clientId);
  const network = networkOf(presented.address);
  await limits.wrongSecrets.check(`${appId} ${network}`);
  const { rows, grant } = await loadClientAndGrant(storage.durable, appId, token, now);
  // The id of an external app is not its `client_id`.
  const found = (rows[0]?.client_external_id ?? appId) === clientId ? rows[0] : undefined;
  // The developer sees requests with a wrong secret, too.
  if (found) presented.context.appId = appId;
  const isPublic = found?.client_is_public === 1;
  // Without a secret, it is not an attempt to guess one.
  if (!isPublic && clientSecret === undefined)
    throw isId(clientId) ? missingCredential('client_secret', credentials) : unknownClient(credentials);
  const hash = hashSecret(clientSecret ?? '');
  const secret = rows.find(({ secret_hash }) => secret_hash !== null && sameText(secret_hash, hash));
  const row = isPublic ? found : found && secret;
  if (!row) await countWrongSecret(limits.wrongSecrets, found && appId, network);
  if (!row) throw wrongCredentials(credentials);
  if (isPublic) rejectSecret(credentials);
  else if (row.secret_id !== null && now - (row.secret_used_at ?? 0) >= LAST_USED_PRECISION)
    await useSecret(storage.relaxed, row.secret_id, now);
  // Anyone can send the `client_id` of a public client, and must not use up the limit of its users.
  await limits.perApp.count(isPublic ? `${appId} ${network}` : appId);
  const client = { id: appId, isPublic, isFirstParty: row.client_is_first_party === 1 };
  return { client, verified: token && verifyToken(token, grant) };
}

/** An empty secret by HTTP Basic is none (RFC 6749 §2.3.1). */
function rejectSecret({ clientSecret, usedBasic }: Credentials): void {
  if (!clientSecret) return;
  const description = 'This is a public app, which has no secret: send its client_id alone.';
  throw new InvalidClient('app_is_public', description, { usedBasic });
}

/** For endpoints that reveal information: anyone can send the `client_id` of a public client. */
export async function authenticateConfidentialClient(
  deps: AuthenticationDeps,
  presented: ClientCredentials,
  token: DecodedToken | undefined,
  now: number,
): Promise<Awaited<ReturnType<typeof authenticateClient>>> {
  const authenticated = await authenticateClient(deps, presented, token, now);
  if (!authenticated.client.isPublic) return authenticated;
  const usedBasic = presented.authorization !== undefined;
  throw new InvalidClient('app_is_public', 'A public app has no secret, so it cannot use this endpoint.', {
    usedBasic,
  });
}

function wrongCredentials({ usedBasic }: Credentials): InvalidClient {
  const description =
    "No app has this client_id and client_secret. Copy both from the app's page, or add a new secret there.";
  return new InvalidClient('credentials_wrong', description, { usedBasic });
}

/** An external client is stored when the first user allows it. */
function unknownClient({ usedBasic }: Credentials): InvalidClient {
  const description =
    'No app has this client_id. If it is the URL of a metadata document, or was registered here, no user has allowed it yet: start with the authorize endpoint.';
  return new InvalidClient('credentials_wrong', description, { usedBasic });
}

function missingCredential(
  name: 'client_id' | 'client_secret',
  { usedBasic }: Pick<Credentials, 'usedBasic'>,
): InvalidClient {
  const description = `${name} is missing. Send client_id and client_secret in the body, or by HTTP Basic.`;
  return new InvalidClient('credentials_missing', description, { usedBasic });
}

/** One row per secret of the client, and one without a secret for a public client. */
interface ClientRow {
  client_external_id: string | null;
  client_is_public: number;
  client_is_first_party: number;
  secret_id: string | null;
  secret_hash: string | null;
  secret_used_at: number | null;
}

/** In one query. No rows if there is no such client; no grant if there is no token, or no grant for it any more. */
async function loadClientAndGrant(
  db: Database,
  appId: string,
  token: DecodedToken | undefined,
  now: number,
): Promise<{ rows: ClientRow[]; grant: Grant | undefined }> {
  if (token) {
    const { rows } = await readClientAndGrant(db, {
      appId,
      grantId: token.grantId,
      rotation: token.accessRotation,
      now,
    });
    if (rows[0]) return { rows, grant: grantFrom(rows[0]) };
  }
  const { rows } = await readClient(db, { appId });
  return { rows, grant: undefined };
}

const readClientAndGrant = batchedQuery(
  { appId: 'uuid', grantId: 'uuid', rotation: 'bigint', now: 'bigint' },
  (db, { appId, grantId, rotation, now }: { appId: string; grantId: string; rotation: number; now: number }) =>
    selectGrants(db, { rotation, now })
      .innerJoin('apps as client', (join) => join.on('client.id', '=', appId).on('client.deleted_at', 'is', null))
      .leftJoin('app_secrets', 'app_secrets.app_id', 'client.id')
      .select(clientColumns)
      // Kysely types it as nullable because `apps`, joined for the grant, is; an inner join always has it.
      .$narrowType<Pick<ClientRow, 'client_is_public'>>()
      .where('grants.id', '=', grantId),
);

const readClient = preparedQuery((db, { appId }: { appId: string }) =>
  db
    .selectFrom('apps as client')
    .leftJoin('app_secrets', 'app_secrets.app_id', 'client.id')
    .select(clientColumns)
    .where('client.id', '=', appId)
    .where('client.deleted_at', 'is', null),
);

type ClientTables = Tables & { client: Tables['apps'] };

function clientColumns({ eb, and, ref }: ExpressionBuilder<ClientTables, 'client' | 'app_secrets'>) {
  const isFirstParty = and([
    eb('client.owner_scope', '=', sql.lit('platform')),
    eb('client.is_public', '=', eb.lit(0)),
    eb('client.disabled_at', 'is', null),
    eb('client.paused_at', 'is', null),
  ]);
  return [
    ref('client.external_client_id').as('client_external_id'),
    ref('client.is_public').as('client_is_public'),
    eb.case().when(isFirstParty).then(1).else(0).end().as('client_is_first_party'),
    ref('app_secrets.id').as('secret_id'),
    ref('app_secrets.secret_hash').as('secret_hash'),
    ref('app_secrets.last_used_at').as('secret_used_at'),
  ] as const;
}

/**
 * Counted by network, and by app and network. All client ids without an app share one counter: a caller can invent any
 * number of them, and each counter is a row where several nodes count together.
 */
async function countWrongSecret(limit: RateLimit, appId: string | undefined, network: string): Promise<void> {
  await limit.count(network);
  await limit.count(`${appId ?? 'unknown'} ${network}`);
}

/** False for a `client_id` alone: it names an app, and authenticates no other than a public one. */
export function presentsSecret({ authorization, clientSecret }: ClientCredentials): boolean {
  return authorization !== undefined || clientSecret !== undefined;
}

interface Credentials {
  clientId: string;
  clientSecret: string | undefined;
  usedBasic: boolean;
}

function readCredentials({ authorization, clientId, clientSecret }: ClientCredentials): Credentials {
  if (authorization !== undefined) {
    const basic = readBasic(authorization);
    if (clientSecret !== undefined || (clientId !== undefined && clientId !== basic.clientId)) {
      throw new OAuthError(
        'invalid_request',
        'credentials_sent_twice',
        'Send the credentials in the body or by HTTP Basic, not both.',
      );
    }
    return basic;
  }
  if (clientId === undefined) throw missingCredential('client_id', { usedBasic: false });
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
