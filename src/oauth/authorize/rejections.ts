import { differenceFrom } from '../../apps/redirect-uri-differences.ts';
import type { RequestContext } from '../../request-log/log.ts';
import { CallbackError, UntrustedRequest } from '../errors.ts';
import { parseQuery, valuesOf } from './parameters.ts';

/** A host name has at most 253 characters, but a URL may contain a longer one. */
const MAX_ORIGIN = 300;

/** Anyone can send the request: the log of the app gets nothing of it but the origin of the redirect URI. */
export function logRejection(context: RequestContext, query: string, error: unknown): void {
  const { rejected } = error instanceof CallbackError || error instanceof UntrustedRequest ? error : {};
  if (!rejected || rejected.app.ownerScope === 'external') return;
  const { app, parameter } = rejected;
  const [sent] = valuesOf(parseQuery(query), 'redirect_uri');
  const isForeign = parameter === 'redirect_uri' && sent !== undefined;
  context.appId = app.id;
  context.rejected = {
    name: parameter,
    redirectOrigin: sent === undefined ? null : originOf(sent),
    difference: (isForeign && differenceFrom(app.redirectUris, sent)) || null,
  };
}

/** A private-use scheme has no origin (RFC 8252 §7.1). */
function originOf(uri: string): string | null {
  const url = URL.parse(uri);
  const origin = url?.origin === 'null' ? url.protocol : url?.origin;
  return origin?.slice(0, MAX_ORIGIN) ?? null;
}
