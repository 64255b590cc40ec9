import { readAuthorizationRequest } from '../oauth/authorization-request.ts';
import { CallbackError } from '../oauth/errors.ts';
import { readStamp } from '../oauth/stamps.ts';
import type { WebParts } from './parts.ts';

/** Where a form may lead by way of `/consent`: to the app that asked, or once more round by the authorize endpoint. */
export async function formTargetsOf(parts: WebParts, returnTo: string): Promise<string[]> {
  const [path, stamped = ''] = returnTo.split(/\?(.*)/s);
  if (path !== '/consent') return [];
  const { query } = readStamp(parts.keys, stamped, parts.clock());
  const redirectUri = await findRedirectUri(parts, query);
  return redirectUri === undefined ? [parts.issuer] : [sourceOf(redirectUri), parts.issuer];
}

/** A CSP source cannot name an IPv6 address, so there the scheme has to do. */
export function sourceOf(redirectUri: string): string {
  const { origin, hostname, protocol } = new URL(redirectUri);
  return hostname.startsWith('[') ? protocol : origin;
}

async function findRedirectUri({ storage }: WebParts, query: string): Promise<string | undefined> {
  try {
    return (await readAuthorizationRequest(storage.durable, query)).callback.redirectUri;
  } catch (error) {
    return error instanceof CallbackError ? error.callback.redirectUri : undefined;
  }
}
