import { MINUTE } from '../../../lib/clock.ts';
import { decrypt, encrypt, type Keyring } from '../../../lib/keyring.ts';
import type { Scopes } from '../../../lib/scope-lists.ts';
import { hashSecret } from '../../../lib/secrets.ts';
import { type ApiResponse, type Call, clientSecret, getWithToken, post, refreshToken } from './requests.ts';

interface Step {
  title: string;
  why: string;
  button: string;
  isPossible(progress: PlaygroundState): boolean;
  call(issuer: string, progress: PlaygroundState): Call;
  /** The state after the response. */
  update(progress: PlaygroundState, response: ApiResponse): PlaygroundState;
}

export type StepName = 'exchange' | 'businesses' | 'invoices' | 'refresh' | 'revoke';

const exchange: Step = {
  title: 'Exchange the code for tokens',
  why: 'A code is valid for 10 minutes and works once; if it is sent again, the tokens issued for it are revoked. Only your server makes this request, because only your server knows the client_secret.',
  button: 'Send the request',
  isPossible: ({ code }) => code !== undefined,
  call: (issuer, { code = '', appId, redirectUri, verifier }) =>
    post(`${issuer}/api/v1/oauth/token`, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      client_id: appId,
      client_secret: clientSecret,
    }),
  update(progress, response) {
    const updated = storeTokens(progress, response);
    // The code is still unused if client authentication failed.
    return updated.tokens || response.status === 400 ? { ...updated, code: undefined } : progress;
  },
};

const businesses: Step = {
  title: 'Get the business',
  why: 'An access token works in one business: the one that was current when the user allowed the app. Every other call names it.',
  button: 'Call the API',
  isPossible: ({ tokens }) => tokens !== undefined,
  call: (issuer) => getWithToken(`${issuer}/api/v1/businesses`),
  update(progress, { json }) {
    const id = (json as { id?: unknown }[] | undefined)?.[0]?.id;
    return typeof id === 'string' ? { ...progress, businessId: id } : progress;
  },
};

const invoices: Step = {
  title: 'List invoices',
  why: 'x-business-id names the business. This needs the scope read:invoices; without it the response is 403 with insufficient_scope.',
  button: 'List invoices',
  isPossible: ({ tokens, businessId }) => tokens !== undefined && businessId !== undefined,
  call: (issuer, { businessId = '' }) =>
    getWithToken(`${issuer}/api/v1/accounting/invoices?limit=3`, [['x-business-id', [businessId]]]),
  update: (progress) => progress,
};

const refresh: Step = {
  title: 'Refresh the tokens',
  why: 'An access token is valid for an hour. A refresh returns a new pair of tokens: store the new refresh token, because it replaces the old one.',
  button: 'Refresh',
  isPossible: ({ tokens, secret }) => tokens !== undefined && secret !== undefined,
  call: (issuer, { appId }) =>
    post(`${issuer}/api/v1/oauth/token`, {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      client_id: appId,
      client_secret: clientSecret,
    }),
  update: (progress, response) => storeTokens(progress, response),
};

const revoke: Step = {
  title: 'Revoke the tokens',
  why: 'Revoking a refresh token revokes the whole grant. Call the API again afterwards to see the error your app receives.',
  button: 'Revoke',
  isPossible: ({ tokens, hasEnded }) => tokens !== undefined && !hasEnded,
  call: (issuer) => post(`${issuer}/api/v1/oauth/revoke`, { token: refreshToken }),
  update: (progress, { status }) => (status === 200 ? { ...progress, hasEnded: true } : progress),
};

/** In the order in which an app uses them. */
export const STEPS: Readonly<Record<StepName, Step>> = { exchange, businesses, invoices, refresh, revoke };

const NAMES = Object.keys(STEPS) as StepName[];

export function isStep(name: string): name is StepName {
  return Object.hasOwn(STEPS, name);
}

/** The possible steps: first those after the last one, then the earlier ones. */
export function nextSteps(progress: PlaygroundState, last: StepName | undefined): StepName[] {
  const start = last === undefined ? 0 : NAMES.indexOf(last) + 1;
  return [...NAMES.slice(start), ...NAMES.slice(0, start)].filter((name) => STEPS[name].isPossible(progress));
}

function storeTokens(progress: PlaygroundState, { json }: ApiResponse): PlaygroundState {
  const { access_token: access, refresh_token: refresh } = (json ?? {}) as Record<string, unknown>;
  return typeof access === 'string' && typeof refresh === 'string'
    ? { ...progress, tokens: { access, refresh } }
    : progress;
}

/** What the playground knows after each step. */
export interface PlaygroundState {
  appId: string;
  redirectUri: string;
  scopes: Scopes;
  /** The PKCE code verifier (RFC 7636 §4.1). */
  verifier: string;
  code?: string | undefined;
  secret?: string;
  tokens?: { access: string; refresh: string };
  businessId?: string;
  hasEnded?: boolean;
  /** The steps that have succeeded. */
  done?: StepName[];
}

interface EncryptedState {
  session: string;
  at: number;
  progress: PlaygroundState;
}

interface StateOwner {
  keys: Keyring;
  session: { id: string };
}

const LIFETIME = 30 * MINUTE;

/**
 * The state is not stored on the server: the browser sends it back, as the OAuth `state` and in forms. It is encrypted
 * and not only signed, because it contains the verifier and later the secret and the tokens.
 */
export function encryptState({ keys, session }: StateOwner, progress: PlaygroundState, now: number): string {
  const payload: EncryptedState = { session: hashSecret(session.id), at: now, progress };
  return encrypt(keys, 'try it', JSON.stringify(payload));
}

/** Undefined if it was modified, has expired, or belongs to another session. */
export function decryptState({ keys, session }: StateOwner, text: string, now: number): PlaygroundState | undefined {
  const decrypted = decrypt(keys, 'try it', text);
  if (decrypted === undefined) return undefined;
  const { session: owner, at, progress } = JSON.parse(decrypted) as EncryptedState;
  return owner === hashSecret(session.id) && now - at < LIFETIME ? progress : undefined;
}
