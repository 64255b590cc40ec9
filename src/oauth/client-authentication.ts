import { type AuthenticatedClient, type ReadCaller, verifyClient } from '../apps/proving.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import type { RequestContext } from '../request-log/request-context.ts';
import type { Storage } from '../storage/storage.ts';
import { AppNotAuthenticated, OAuthError } from './errors.ts';

/** What a request says of the app that sends it. */
export interface ClientCredentials {
  authorization: string | undefined;
  clientId: string | undefined;
  clientSecret: string | undefined;
  address: string;
  /** Where it is written down which app it was. */
  context: RequestContext;
}

interface Credentials {
  clientId: string;
  clientSecret: string;
  usedBasic: boolean;
}

/** What an app is identified by. */
export interface IdentifyingParts {
  storage: Storage;
  limits: { perApp: RateLimit; wrongSecrets: RateLimit };
  /** How the app is found, where not by itself. */
  read?: ReadCaller | undefined;
}

/**
 * The app that sends a request, which counts towards what it may send (RFC 6749 §2.3.1). An unknown app and a wrong
 * secret look alike.
 */
export async function authenticateClient(
  { storage, limits, read }: IdentifyingParts,
  presented: ClientCredentials,
  now: number,
): Promise<AuthenticatedClient> {
  const { clientId, clientSecret, usedBasic } = readCredentials(presented);
  const network = networkOf(presented.address);
  await limits.wrongSecrets.check(keyOf(clientId, network));
  const found = await verifyClient({ db: storage.durable, read }, { clientId, secret: clientSecret }, now);
  if (!found?.isProven) await countWrongSecret(limits.wrongSecrets, found?.app.id, network);
  // Its developer should see a wrong secret, too, whoever sent it.
  if (found) presented.context.appId = found.app.id;
  if (found?.isProven) {
    await limits.perApp.count(found.app.id);
    return found.app;
  }
  throw new AppNotAuthenticated(
    'credentials_wrong',
    "No app has this client_id and client_secret. Copy both from the app's page, or add a new secret there.",
    { usedBasic },
  );
}

/**
 * Counted by network, and by app and network. All client ids without an app share one counter: a caller can invent any
 * number of them, and each counter is a row where several nodes count together.
 */
async function countWrongSecret(limit: RateLimit, appId: string | undefined, network: string): Promise<void> {
  await limit.count(network);
  await limit.count(keyOf(appId ?? 'unknown', network));
}

function keyOf(clientId: string, network: string): string {
  return `${clientId.toLowerCase()} ${network}`;
}

/** False for a `client_id` alone: that names an app and authenticates none. */
export function presentsSecret({ authorization, clientSecret }: ClientCredentials): boolean {
  return authorization !== undefined || clientSecret !== undefined;
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
    throw new AppNotAuthenticated(
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
    throw new AppNotAuthenticated(
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
