import { readAuthorizationRequest } from '../oauth/authorize/request.ts';
import { readTimestamp } from '../oauth/authorize/timestamp.ts';
import { CallbackError } from '../oauth/errors.ts';
import type { WebDeps } from './deps.ts';

const ALLOWED_PATHS = /^\/(?:$|consent$|invitation\/|businesses\/|settings\/|platform\/)/;

/** The path of a page to return to; anything else becomes `/`. */
export function readReturnTo(text: unknown, consentUrl: string): string {
  // URL.parse accepts forms that browsers read as another host: //x, /\x, tabs and line breaks.
  if (typeof text !== 'string' || !/^\/(?![/\\])[\x21-\x7e]*$/.test(text)) return '/';
  const url = URL.parse(text, consentUrl);
  return url && url.origin === consentUrl && ALLOWED_PATHS.test(url.pathname) ? url.pathname + url.search : '/';
}

/** The page that follows a sign-in. */
export interface Destination {
  /** The app that requested authorization, if any. */
  appName: string | undefined;
  /** `/consent` redirects to the app, or back to the authorize endpoint. */
  formTargets: string[];
}

/** `address` is the caller's. */
export async function findDestination(deps: WebDeps, returnTo: string, address: string): Promise<Destination> {
  const [path, stamped = ''] = returnTo.split(/\?(.*)/s);
  if (path !== '/consent') return { appName: undefined, formTargets: [] };
  const { query } = readTimestamp(deps.keys, stamped, deps.clock());
  try {
    const { app, callback } = await readAuthorizationRequest(deps, query, address);
    return { appName: app.name, formTargets: [cspSource(callback.redirectUri), deps.issuer] };
  } catch (error) {
    if (!(error instanceof CallbackError)) return { appName: undefined, formTargets: [deps.issuer] };
    return { appName: undefined, formTargets: [cspSource(error.callback.redirectUri), deps.issuer] };
  }
}

/** CSP sources cannot contain IPv6 addresses, and a private-use scheme has no origin: for those only the scheme is given. */
export function cspSource(redirectUri: string): string {
  const { origin, hostname, protocol } = new URL(redirectUri);
  return hostname.startsWith('[') || origin === 'null' ? protocol : origin;
}
