import { readAuthorizationRequest, readTimestamp } from '../oauth/authorize/request.ts';
import { CallbackError } from '../oauth/errors.ts';
import type { WebDeps } from './deps.ts';

const ALLOWED_PATHS = /^\/(?:$|consent$|invitation\/|settings\/|platform\/)/;

/** A path on this host that a person may be sent back to; anything else becomes the front page. */
export function readReturnTo(text: unknown, consentUrl: string): string {
  // The parser below forgives what a browser would take for another host: //x, /\x, tabs and line breaks.
  if (typeof text !== 'string' || !/^\/(?![/\\])[\x21-\x7e]*$/.test(text)) return '/';
  const url = URL.parse(text, consentUrl);
  return url && url.origin === consentUrl && ALLOWED_PATHS.test(url.pathname) ? url.pathname + url.search : '/';
}

/** Where a sign-in leads. */
export interface Destination {
  /** The app that is waiting, if it is one. */
  appName: string | undefined;
  /** By way of `/consent`: to the app that asked, or once more round by the authorize endpoint. */
  formTargets: string[];
}

export async function findDestination(deps: WebDeps, returnTo: string): Promise<Destination> {
  const [path, stamped = ''] = returnTo.split(/\?(.*)/s);
  if (path !== '/consent') return { appName: undefined, formTargets: [] };
  const { query } = readTimestamp(deps.keys, stamped, deps.clock());
  try {
    const { app, callback } = await readAuthorizationRequest(deps.storage.durable, query);
    return { appName: app.name, formTargets: [cspSource(callback.redirectUri), deps.issuer] };
  } catch (error) {
    if (!(error instanceof CallbackError)) return { appName: undefined, formTargets: [deps.issuer] };
    return { appName: undefined, formTargets: [cspSource(error.callback.redirectUri), deps.issuer] };
  }
}

/** A CSP source cannot name an IPv6 address, so there the scheme has to do. */
export function cspSource(redirectUri: string): string {
  const { origin, hostname, protocol } = new URL(redirectUri);
  return hostname.startsWith('[') ? protocol : origin;
}
