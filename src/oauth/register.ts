import { type ClientMetadata, InvalidClientMetadata, readRegistration } from '../apps/client-metadata.ts';
import { encodeDynamicClientId } from '../apps/dynamic-client-ids.ts';
import { ApiError } from '../http/errors.ts';
import { SECOND } from '../lib/clock.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import { formatScopes } from '../lib/scope-lists.ts';
import { allowedScopesOf, type ExternalClients } from './authorize/external-client.ts';
import { OAuthError } from './errors.ts';

export interface RegistrationDeps {
  keys: Keyring;
  externalClients: ExternalClients;
  limits: { registrations: RateLimit };
}

interface Registration {
  fields: Record<string, unknown>;
  /** The caller's IP address. */
  address: string;
}

/** POST /api/v1/oauth/register (RFC 7591). Stores nothing: the `client_id` contains what was registered. */
export async function respondToRegistration(
  { keys, externalClients, limits }: RegistrationDeps,
  { fields, address }: Registration,
  now: number,
) {
  await limits.registrations.count(networkOf(address));
  const { clientId, metadata } = register(keys, externalClients, fields);
  return {
    client_id: clientId,
    client_id_issued_at: Math.floor(now / SECOND),
    client_name: metadata.name,
    redirect_uris: metadata.redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: formatScopes(allowedScopesOf(metadata)),
  };
}

/** The metadata names no registration endpoint, but an agent may know it from a server that has one. */
export async function rejectRegistration(): Promise<never> {
  const description =
    'Apps cannot register themselves here: DYNAMIC_REGISTRATION is off. Use the URL of a client metadata document as client_id, or a public app that a business has registered under Settings, Developer.';
  throw new ApiError({ status: 404, code: 'not_found', reason: 'not_found', description });
}

function register(keys: Keyring, { privateSchemes }: ExternalClients, fields: Record<string, unknown>) {
  try {
    const metadata: ClientMetadata = readRegistration(fields, { defaultName: 'Unnamed app', privateSchemes });
    return { clientId: encodeDynamicClientId(keys, metadata), metadata };
  } catch (error) {
    if (!(error instanceof InvalidClientMetadata)) throw error;
    // RFC 7591 §3.2.2.
    throw error.field === 'redirect_uris'
      ? new OAuthError('invalid_redirect_uri', 'redirect_uri_invalid', error.message)
      : new OAuthError('invalid_client_metadata', 'client_metadata_invalid', error.message);
  }
}
