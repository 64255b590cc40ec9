import type { Languages } from '../languages/languages.ts';
import { type Resource, resourceUri } from './resource-indicators.ts';
import { SCOPES } from './scopes.ts';

const AUTH_METHODS = ['client_secret_post', 'client_secret_basic'];

/** Which clients that are not registered here are accepted. */
interface AcceptedClients {
  acceptsDocuments: boolean;
  acceptsRegistrations: boolean;
}

interface MetadataOptions extends AcceptedClients {
  languages: Languages;
}

/** RFC 8414 §2. */
export function serverMetadata(issuer: string, { acceptsDocuments, acceptsRegistrations, languages }: MetadataOptions) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/api/v1/oauth/authorize`,
    token_endpoint: `${issuer}/api/v1/oauth/token`,
    revocation_endpoint: `${issuer}/api/v1/oauth/revoke`,
    introspection_endpoint: `${issuer}/api/v1/oauth/introspect`,
    ...(acceptsRegistrations && { registration_endpoint: `${issuer}/api/v1/oauth/register` }),
    service_documentation: `${issuer}/docs`,
    scopes_supported: SCOPES.map(({ name }) => name),
    ui_locales_supported: languages.map(({ tag }) => tag),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: [...AUTH_METHODS, 'none'],
    revocation_endpoint_auth_methods_supported: [...AUTH_METHODS, 'none'],
    introspection_endpoint_auth_methods_supported: AUTH_METHODS,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    ...(acceptsDocuments && { client_id_metadata_document_supported: true }),
  };
}

/** RFC 9728 §2. */
export function resourceMetadata(
  { issuer, platformName }: { issuer: string; platformName: string },
  resource: Resource,
) {
  return {
    resource: resourceUri(issuer, resource),
    authorization_servers: [issuer],
    scopes_supported: SCOPES.map(({ name }) => name),
    bearer_methods_supported: ['header'],
    resource_name: resource === null ? `${platformName} API` : `${platformName} MCP server`,
    resource_documentation: `${issuer}/docs`,
  };
}
