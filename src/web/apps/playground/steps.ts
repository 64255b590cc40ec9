import { type ApiResponse, type Call, clientSecret, getWithToken, post, refreshToken } from './requests.ts';
import type { PlaygroundState } from './state.ts';

/** One request of the walk. */
interface Step {
  title: string;
  why: string;
  button: string;
  isPossible(progress: PlaygroundState): boolean;
  call(issuer: string, progress: PlaygroundState): Call;
  /** What is known after an answer. */
  update(progress: PlaygroundState, response: ApiResponse): PlaygroundState;
}

export type StepName = 'exchange' | 'businesses' | 'invoices' | 'refresh' | 'revoke';

const exchange: Step = {
  title: 'Exchange the code for tokens',
  why: 'A code lives 10 minutes and works once; sent a second time, it ends what it gave the first time. Only your server makes this request, since only your server knows the client_secret.',
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
    // Only where the app itself was not recognised is the code still as good as before.
    return updated.tokens || response.status === 400 ? { ...updated, code: undefined } : progress;
  },
};

const businesses: Step = {
  title: 'Ask which business it is',
  why: 'An access token works in one business: the one that the user acted for when they allowed the app. Every other call names it.',
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
  why: 'x-business-id names the business. This needs the scope read:invoices: without it the answer is 403, and says so.',
  button: 'List invoices',
  isPossible: ({ tokens, businessId }) => tokens !== undefined && businessId !== undefined,
  call: (issuer, { businessId = '' }) =>
    getWithToken(`${issuer}/api/v1/accounting/invoices?limit=3`, [['x-business-id', [businessId]]]),
  update: (progress) => progress,
};

const refresh: Step = {
  title: 'Refresh the tokens',
  why: 'An access token lives an hour. A refresh token gets a new pair, and is replaced itself: keep the new one.',
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
  title: 'Revoke them',
  why: 'A revoked refresh token ends everything that came of this Allow. Call the API once more after it, and see what your app will be told.',
  button: 'Revoke',
  isPossible: ({ tokens, hasEnded }) => tokens !== undefined && !hasEnded,
  call: (issuer) => post(`${issuer}/api/v1/oauth/revoke`, { token: refreshToken }),
  update: (progress, { status }) => (status === 200 ? { ...progress, hasEnded: true } : progress),
};

/** In the order in which an app would come to them. */
export const STEPS: Readonly<Record<StepName, Step>> = { exchange, businesses, invoices, refresh, revoke };

const NAMES = Object.keys(STEPS) as StepName[];

export function isStep(name: string): name is StepName {
  return Object.hasOwn(STEPS, name);
}

/** What can be done from here: first what an app would do next, then the rest. */
export function nextSteps(progress: PlaygroundState, last: StepName | undefined): StepName[] {
  const place = last === undefined ? 0 : NAMES.indexOf(last) + 1;
  return [...NAMES.slice(place), ...NAMES.slice(0, place)].filter((name) => STEPS[name].isPossible(progress));
}

function storeTokens(progress: PlaygroundState, { json }: ApiResponse): PlaygroundState {
  const { access_token: access, refresh_token: refresh } = (json ?? {}) as Record<string, unknown>;
  return typeof access === 'string' && typeof refresh === 'string'
    ? { ...progress, tokens: { access, refresh } }
    : progress;
}
