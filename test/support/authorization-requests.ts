import type { App } from '../../src/apps/apps.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Keyring } from '../../src/lib/keyring.ts';
import { type AuthorizationRequest, readAuthorizationRequest } from '../../src/oauth/authorize/request.ts';
import type { Storage } from '../../src/storage/storage.ts';

export const EXTERNAL_BOUNDS = { user: 100, business: 1000 };

/** A request of the app for `read:invoices`, as the consent page reads it. */
export function requestInvoices(deps: { storage: Storage; keys: Keyring }, app: App): Promise<AuthorizationRequest> {
  const query = new URLSearchParams({ response_type: 'code', client_id: app.id, scope: 'read:invoices', state: 's' });
  query.set('redirect_uri', app.redirectUris[0] ?? '');
  const none = { documents: undefined, acceptsRegistrations: false, privateSchemes: [] };
  const externalClients = { ...none, bounds: EXTERNAL_BOUNDS };
  const all = { ...deps, clock: systemClock, issuer: 'https://api.example.com', servesMcp: true, externalClients };
  return readAuthorizationRequest(all, query.toString(), '127.0.0.1');
}
