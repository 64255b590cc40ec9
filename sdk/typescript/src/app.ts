import { type Api, newApi, type TokenSource } from './api.ts';
import {
  requireFunction,
  requireObject,
  requireRedirectUri,
  requireScopes,
  requireText,
  requireToken,
  requireTokens,
} from './arguments.ts';
import {
  type Authorization,
  type AuthorizationOptions,
  beginAuthorization,
  finishAuthorization,
  type PendingAuthorization,
} from './authorization.ts';
import { type ConnectionOptions, readConnection } from './connection.ts';
import type { Credentials } from './credentials.ts';
import { GatehouseError } from './errors.ts';
import type { GatehouseEvent } from './event-types.ts';
import { type EventPage, type EventPageOptions, type EventsOptions, readEventPage, walkEvents } from './events.ts';
import { type Introspection, introspectToken } from './introspection.ts';
import type { Scope } from './names.ts';
import { IDEMPOTENT, send } from './retries.ts';
import { abortable, type CallOptions, optionalSignal } from './signals.ts';
import { createTokenRefresher, type KeptTokens, type TokenRefresher } from './token-refresher.ts';
import { refreshTokens, type Tokens } from './tokens.ts';

/** The address of Gatehouse, and the registration of the app. */
export interface AppOptions extends ConnectionOptions {
  /** Public; from the app's registration. */
  clientId: string;
  /** For the app's own server only: never send it to a browser. */
  clientSecret: string;
  /** Where visitors come back to, exactly as it was registered. */
  redirectUri: string;
}

/** Options of a refresh. */
export interface RefreshOptions extends CallOptions {
  /** Fewer scopes for the new access token. */
  scopes?: readonly Scope[] | undefined;
}

/** An app with its credentials, on the app's own server. */
export interface App {
  /** Begins to connect a visitor: keep `state` and `codeVerifier` with their browser, and send them to `url`. */
  beginAuthorization(options: AuthorizationOptions): Promise<Authorization>;
  /** Checks the callback URL (or its query), and exchanges its code for tokens. */
  finishAuthorization(callbackUrl: string | URL, pending: PendingAuthorization, options?: CallOptions): Promise<Tokens>;
  /** Exchanges a refresh token for a new pair, with fewer scopes if you name them. `api` does this automatically. */
  refresh(refreshToken: string, options?: RefreshOptions): Promise<Tokens>;
  /** Revokes a token of either kind. A refresh token ends the whole grant. */
  revoke(token: string, options?: CallOptions): Promise<void>;
  /** Introspects one of the app's own tokens. */
  introspect(token: string, options?: CallOptions): Promise<Introspection>;
  /** One page of the events of the last 30 days, the oldest first. */
  eventPage(options?: EventPageOptions): Promise<EventPage>;
  /** The events of the last 30 days, the oldest first, for a receiver that was down; pages are read as they are needed. */
  events(options?: EventsOptions): AsyncGenerator<GatehouseEvent, void, undefined>;
  /** The business API, with tokens that are refreshed automatically and stored before they are used. */
  api(kept: KeptTokens): Api;
}

/** Creates an app from the address of Gatehouse and the app's registration. Sends nothing. */
export function createApp(options: AppOptions): App {
  const app = readApp(options);
  return {
    beginAuthorization: async (wanted) => beginAuthorization(app, wanted),
    finishAuthorization: async (callbackUrl, pending, options) =>
      finishAuthorization(app, callbackUrl, pending, signalIn(options, 'The third argument of finishAuthorization')),
    async refresh(refreshToken, wanted = {}) {
      const { scopes } = requireObject(wanted, 'The second argument of refresh');
      const narrowed = scopes === undefined ? undefined : requireScopes(scopes, 'scopes');
      return refreshTokens(app, requireToken(refreshToken, 'refreshToken'), narrowed, optionalSignal(wanted.signal));
    },
    async revoke(token, options) {
      const body = { token: requireToken(token, 'token'), ...app.fields };
      const signal = signalIn(options, 'The second argument of revoke');
      await send(app.connection, { path: '/api/v1/oauth/revoke', body, signal }, IDEMPOTENT);
    },
    introspect: async (token, options) =>
      introspectToken(app, requireToken(token, 'token'), signalIn(options, 'The second argument of introspect')),
    eventPage: async (options = {}) => readEventPage(app, options),
    events: (options = {}) => walkEvents(app, options),
    api(kept) {
      const refresher = createTokenRefresher(readKept(kept), (refreshToken) => refreshTokens(app, refreshToken));
      return newApi(app.connection, refreshing(refresher));
    },
  };
}

function signalIn(options: CallOptions = {}, name: string): AbortSignal | undefined {
  return optionalSignal(requireObject(options, name).signal);
}

function readApp(options: AppOptions): Credentials {
  const given = requireObject(options, 'The argument of createApp');
  const clientId = requireText(given.clientId, 'clientId');
  return {
    connection: readConnection(given),
    clientId,
    redirectUri: requireRedirectUri(given.redirectUri),
    fields: { client_id: clientId, client_secret: requireText(given.clientSecret, 'clientSecret') },
  };
}

function readKept(kept: KeptTokens): KeptTokens & { tokens: Tokens } {
  const { tokens, save, load } = requireObject(kept, 'The argument of api');
  return {
    tokens: requireTokens(tokens, 'tokens'),
    save: requireFunction(save, 'save'),
    load: load === undefined ? undefined : requireFunction(load, 'load'),
  };
}

/** A token may also be revoked before it expires. It is then refreshed, and the call repeated, once. */
function refreshing(refresher: TokenRefresher): TokenSource {
  // A refresh is shared: aborting one call does not abort it for the others.
  const tokenFor = (signal: AbortSignal | undefined, rejected?: string) => {
    signal?.throwIfAborted();
    return abortable(refresher.accessToken(rejected), signal);
  };
  return {
    current: (signal) => tokenFor(signal),
    async use(call, signal) {
      const accessToken = await tokenFor(signal);
      try {
        return await call(accessToken);
      } catch (error) {
        const isRejected = error instanceof GatehouseError && error.status === 401 && error.code === 'invalid_token';
        if (!isRejected) throw error;
        return call(await tokenFor(signal, accessToken));
      }
    },
  };
}
