import { type App, findApp } from '../../apps/apps.ts';
import { appIdOf, clientIdOf } from '../../apps/client-ids.ts';
import { isRegistered, isRegisteredExternally } from '../../apps/redirect-uris.ts';
import { boundBusiness } from '../../grants/tenancy.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Keyring } from '../../lib/keyring.ts';
import type { Scopes } from '../../lib/scope-lists.ts';
import { withVisibleCharacters } from '../../lib/web-addresses.ts';
import type { Storage } from '../../storage/storage.ts';
import { type Callback, CallbackError, OAuthError, ParameterError, UntrustedRequest } from '../errors.ts';
import { isChallenge } from '../pkce.ts';
import { businessOf, mcpResource, type Resource, readResource, resourceUri } from '../resource-indicators.ts';
import type { AuthorizeQuery } from '../schemas.ts';
import { readScopes } from '../scopes.ts';
import { type ExternalClients, isExternalClientId, readExternalClient } from './external-client.ts';
import { inParameter, type Parameters, parseQuery, readOnce, rejectTooLong, valuesOf } from './parameters.ts';
import { readRequestedScopes } from './requested-scopes.ts';

/** A valid authorize request (RFC 6749 §4.1.1). What depends on the user is checked later. */
export interface AuthorizationRequest {
  app: App;
  callback: Callback;
  /** As the app sent it; null if it did not. The token request must repeat it (RFC 6749 §4.1.3). */
  sentRedirectUri: string | null;
  /** All requested scopes, the optional ones included. */
  scopes: Scopes;
  /** The scopes that the user may leave out. */
  optionalScopes: Scopes;
  prompt: 'none' | 'login' | null;
  codeChallenge: string | null;
  /** Where the tokens will work. */
  resource: Resource;
  /** The only business that the request can be for, by its resource or its app. Null if the user can choose. */
  businessId: string | null;
}

export interface AuthorizeDeps {
  storage: Storage;
  keys: Keyring;
  clock: Clock;
  issuer: string;
  servesMcp: boolean;
  externalClients: ExternalClients;
}

/**
 * The order of the checks matters: errors before the redirect URI is known to be the app's are shown on a page, later ones
 * are sent to the app.
 */
export async function readAuthorizationRequest(
  deps: AuthorizeDeps,
  query: string,
  address: string,
): Promise<AuthorizationRequest> {
  const parameters = parseQuery(query);
  const app = await findRequestedApp(deps, parameters, address);
  const redirectUri = readRedirectUri(app, parameters);
  const states = parameters.get('state') ?? [];
  const callback = { redirectUri, state: states.length === 1 ? states[0]?.raw : undefined };
  try {
    inParameter('state', () => rejectTooLong(query));
    const resource = inParameter('resource', () => readAppResource(deps, app, parameters));
    const businessId = businessOf(resource) ?? boundBusiness(app);
    return { app, callback, resource, businessId, ...readParameters(app, parameters) };
  } catch (error) {
    throw error instanceof OAuthError ? rejection(app, callback, error) : error;
  }
}

/**
 * Anyone can publish the metadata of an external app, with any redirect URI. Before the user has signed in, a redirect there
 * would be an open one (RFC 9700 §4.11.2), so the user gets a page.
 */
export function rejection(app: App, callback: Callback, error: OAuthError): CallbackError | UntrustedRequest {
  const rejected = error instanceof ParameterError ? { app, parameter: error.parameter } : undefined;
  if (app.ownerScope !== 'external') return new CallbackError(callback, error, rejected);
  return new UntrustedRequest((texts) => texts.rejected(app.name), error.message);
}

/** The parameters that depend on the app only. */
type OwnParameters = Omit<AuthorizationRequest, 'app' | 'callback' | 'resource' | 'businessId'>;

function readParameters(app: App, parameters: Parameters): OwnParameters {
  const read = <Value>(name: keyof AuthorizeQuery, parse: (text: string | undefined) => Value) =>
    inParameter(name, () => parse(readOnce(parameters, name)));
  read('state', (state) => checkState(app, state));
  read('response_type', checkResponseType);
  read('response_mode', checkResponseMode);
  // RFC 6749 §3.3: without scope the server uses a default, here all scopes of the app.
  const named = read('scope', (scope) => readRequestedScopes(app, scope));
  const optional = read('optional_scope', (scope) => readRequestedScopes(app, scope));
  const { scopes } = readScopes([...(named.length > 0 ? named : app.allowedScopes), ...optional]);
  const prompt = read('prompt', readPrompt);
  const challenge = read('code_challenge', (sent) => sent);
  read('code_challenge_method', (method) => checkChallengeMethod(challenge, method));
  const codeChallenge = read('code_challenge', (sent) => readChallenge(app, sent));
  return {
    sentRedirectUri: valuesOf(parameters, 'redirect_uri')[0] ?? null,
    scopes,
    // External clients request every scope that the MCP server lists, and do not know `optional_scope`.
    optionalScopes: app.ownerScope === 'external' ? scopes : optional,
    prompt,
    codeChallenge,
  };
}

async function findRequestedApp(deps: AuthorizeDeps, parameters: Parameters, address: string): Promise<App> {
  const ids = parameters.get('client_id') ?? [];
  const remedy = "Copy the client_id from the app's page under Settings, Developer.";
  if (ids.length === 0) throw new UntrustedRequest((texts) => texts.clientIdMissing, remedy);
  if (ids.length > 1) throw new UntrustedRequest((texts) => texts.sentTwice('client_id'), 'Send it exactly once.');
  const clientId = ids[0]?.text ?? '';
  const found = await findApp(deps.storage.durable, appIdOf(clientId));
  const app = found && clientIdOf(found) === clientId ? found : undefined;
  if (app) rejectSuspended(app);
  if (isExternalClientId(clientId)) {
    const described = await readExternalClient(deps, { clientId, address }, deps.clock());
    return { ...described, createdAt: app?.createdAt ?? described.createdAt };
  }
  const received = withVisibleCharacters(clientId.slice(0, 200));
  if (!app) throw new UntrustedRequest((texts) => texts.unknownClientId, `${remedy} Received: ${received}`);
  return app;
}

function rejectSuspended(app: App): void {
  if (app.pausedAt !== null) {
    throw new UntrustedRequest((texts) => texts.paused(app.name), 'Only the platform can resume it.');
  }
  if (app.disabledAt !== null) {
    throw new UntrustedRequest((texts) => texts.disabled(app.name), 'The developer of the app can enable it again.');
  }
}

function readRedirectUri(app: App, parameters: Parameters): string {
  const sent = parameters.get('redirect_uri') ?? [];
  const rejected = { app, parameter: 'redirect_uri' };
  if (sent.length > 1) {
    throw new UntrustedRequest((texts) => texts.sentTwice('redirect_uri'), 'Send it exactly once.', {
      ...rejected,
      reason: 'field_repeated',
    });
  }
  const uri = sent[0]?.text;
  const [only, ...others] = app.redirectUris;
  if (uri === undefined) {
    // The metadata of an external app can change while the user reads the screen, and a default with them.
    const isExternal = app.ownerScope === 'external';
    if (only !== undefined && others.length === 0 && !isExternal) return only;
    throw new UntrustedRequest(
      (texts) => (isExternal ? texts.redirectUriMissing : texts.redirectUriUnclear),
      'Send one of the redirect URIs that are registered for the app.',
      { ...rejected, reason: 'field_missing' },
    );
  }
  const isOwn = app.ownerScope === 'external' ? isRegisteredExternally : isRegistered;
  if (!isOwn(app.redirectUris, uri)) {
    throw new UntrustedRequest(
      (texts) => texts.redirectUriForeign(withVisibleCharacters(uri.slice(0, 200)), app.name),
      app.ownerScope === 'external'
        ? 'Send one of the redirect_uris in the metadata of the app: every character counts.'
        : "Register exactly this address on the app's page under Settings, Developer, or send one that is registered: " +
            'every character counts.',
      { ...rejected, reason: 'redirect_uri_invalid' },
    );
  }
  return uri;
}

/**
 * An app that is not registered here is for the MCP server only: no business has registered it for the business API.
 */
function readAppResource({ issuer, servesMcp }: AuthorizeDeps, app: App, parameters: Parameters): Resource {
  const resource = readResource(issuer, valuesOf(parameters, 'resource'));
  if (resource !== null && !servesMcp) {
    throw new OAuthError('invalid_target', 'resource_unknown', 'The MCP server of this platform is switched off.');
  }
  if (app.ownerScope !== 'external' || resource !== null) return resource;
  throw new OAuthError(
    'invalid_target',
    'resource_unknown',
    `An app that is not registered here can use the MCP server only: send resource=${resourceUri(issuer, mcpResource())}.`,
  );
}

function missingParameter(description: string): OAuthError {
  return new OAuthError('invalid_request', 'field_missing', description);
}

/** RFC 9700 §4.7.1: PKCE, which a public client always uses, protects against CSRF as well. */
function checkState(app: App, state: string | undefined): void {
  if (!state && !app.isPublic) throw missingParameter('Send a state, by which your app recognises the response.');
}

function checkResponseType(type: string | undefined): void {
  if (type === 'code') return;
  if (type === undefined) throw missingParameter('Send response_type=code.');
  throw new OAuthError(
    'unsupported_response_type',
    'unsupported_response_type',
    'Only response_type=code is supported: the authorization code flow.',
  );
}

/** OAuth 2.0 Multiple Response Type Encoding Practices §2.1: `query` is the default of the code flow. */
function checkResponseMode(mode: string | undefined): void {
  if (mode === undefined || mode === 'query') return;
  throw new OAuthError('invalid_request', 'value_not_allowed', 'response_mode must be query, or be left out.');
}

function readPrompt(prompt: string | undefined): 'none' | 'login' | null {
  if (prompt === undefined) return null;
  if (prompt === 'none' || prompt === 'login') return prompt;
  throw new OAuthError('invalid_request', 'value_not_allowed', 'prompt must be none or login, or be left out.');
}

/** RFC 7636 §4.3. A challenge without a method would mean `plain`, which protects nothing. */
function checkChallengeMethod(challenge: string | undefined, method: string | undefined): void {
  if (challenge === undefined && method === undefined) return;
  if (challenge === undefined) throw malformedPkce('code_challenge_method came without a code_challenge.');
  if (method !== 'S256') throw malformedPkce('Send code_challenge_method=S256: no other method is supported.');
}

function readChallenge(app: App, challenge: string | undefined): string | null {
  if (challenge === undefined) {
    if (!app.requiresPkce) return null;
    const description = 'This app requires PKCE: send code_challenge and code_challenge_method=S256.';
    throw new OAuthError('invalid_request', 'pkce_required', description);
  }
  if (isChallenge(challenge)) return challenge;
  throw malformedPkce('code_challenge must be the base64url of a SHA-256: 43 characters.');
}

function malformedPkce(description: string): OAuthError {
  return new OAuthError('invalid_request', 'pkce_malformed', description);
}
