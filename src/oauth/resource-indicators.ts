import { isId } from '../lib/ids.ts';
import { OAuthError } from './errors.ts';

/**
 * Where a token works (RFC 8707): the path of an MCP server below the issuer, or null for the business API, which is the
 * default.
 */
export type Resource = string | null;

const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';
const API_PATH = '/api/v1';
const MCP_PATH = '/mcp';

/** Its identifier on the wire. */
export function resourceUri(issuer: string, resource: Resource): string {
  return issuer + (resource ?? API_PATH);
}

/** The MCP server of one business, or of the business that the user chooses. */
export function mcpResource(businessId?: string): string {
  return businessId === undefined ? MCP_PATH : `${MCP_PATH}/${businessId}`;
}

/** Where its metadata is (RFC 9728 §3.1): the well-known path goes before its own. */
export function resourceMetadataUri(issuer: string, resource: Resource): string {
  return resourceUri(issuer + RESOURCE_METADATA_PATH, resource);
}

/** The business that a resource is for, if it names one. */
export function businessOf(resource: Resource): string | undefined {
  return resource?.startsWith(`${MCP_PATH}/`) ? resource.slice(MCP_PATH.length + 1) : undefined;
}

/** The values of the parameter `resource`. It may be repeated (RFC 8707 §2), but a token is for one resource only. */
export function readResource(issuer: string, sent: readonly string[]): Resource {
  const [first, ...others] = new Set(sent.map((uri) => parseResource(issuer, uri)));
  if (first === undefined) return null;
  if (others.length > 0) {
    throw new OAuthError(
      'invalid_target',
      'resource_repeated',
      'A token is for one resource. Send one request for each.',
    );
  }
  return first;
}

/** A token request may repeat the resource of its grant, and cannot request another: a grant is for one. */
export function rejectOtherResource(issuer: string, granted: Resource, sent: string | string[]): void {
  const values = [sent].flat().filter((uri) => uri !== '');
  if (values.length === 0 || readResource(issuer, values) === granted) return;
  throw new OAuthError(
    'invalid_target',
    'resource_different',
    `The resource of the authorize request was ${resourceUri(issuer, granted)}. Send this one, or none.`,
  );
}

function parseResource(issuer: string, uri: string): Resource {
  const url = URL.parse(uri);
  const isPlain = url?.origin === issuer && url.href === url.origin + url.pathname && !uri.includes('#');
  const path = isPlain ? url.pathname.replace(/\/$/, '') : '';
  if (path === API_PATH) return null;
  if (path === MCP_PATH || isId(businessOf(path) ?? '')) return path;
  throw new OAuthError(
    'invalid_target',
    'resource_unknown',
    `Unknown resource: ${uri.slice(0, 200)}. Use ${resourceUri(issuer, null)} or ${issuer + MCP_PATH}.`,
  );
}
