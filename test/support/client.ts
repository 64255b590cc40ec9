import assert from 'node:assert/strict';
import type { Business } from '../../src/accounts/businesses.ts';
import type { User } from '../../src/accounts/users.ts';
import type { Browser, BrowserPage } from './browser.ts';
import { PASSWORD, REDIRECT_URI, type RegisteredApp } from './fixtures.ts';
import { rememberSecret } from './leaks.ts';
import { once } from './once.ts';
import { type ApiRequest, fetchResponseValidator } from './response-validator.ts';
import { scanResponse } from './secret-scanner.ts';

/** A response of the API. `body` is the parsed JSON. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field, and assert its value.
  body: any;
}

export interface Tokens {
  access_token: string;
  token_type: string;
  expires_in: number;
  refresh_token: string;
  scope: string;
}

type Fields = Record<string, unknown>;

interface ClientOptions {
  api: string;
  browse: () => Browser;
  user: User;
  app: RegisteredApp;
  business: Business;
  /** Inserts a session directly; without it, users sign in by the form, which hashes the password. */
  startSession?: (user: User) => Promise<string>;
  /** The variables of the server, if it runs in this process with these and no others. */
  variables?: () => string | undefined;
}

/** Some runs send forms instead of JSON. */
const SENDS_FORMS = process.env.TEST_BODIES === 'form';

export type Client = ReturnType<typeof createClient>;

/** The requests of an app, for the fixtures' app, user and business by default. */
export function createClient({ api, browse, user, app, business, startSession, variables }: ClientOptions) {
  const credentials = { client_id: app.id, client_secret: app.secret };

  function authorizeUrl(changes: Record<string, string | undefined> = {}): string {
    const defaults = {
      response_type: 'code',
      client_id: app.id,
      redirect_uri: REDIRECT_URI,
      scope: 'read:invoices',
      state: 'state-1',
    };
    const params = Object.entries({ ...defaults, ...changes }).filter(
      (pair): pair is [string, string] => pair[1] !== undefined,
    );
    return `${api}/api/v1/oauth/authorize?${new URLSearchParams(params)}`;
  }

  async function signedInByPassword(who: User = user): Promise<Browser> {
    const browser = browse();
    await browser.signIn(who.email, PASSWORD);
    return browser;
  }

  async function signedIn(who: User = user): Promise<Browser> {
    const browser = browse();
    if (!startSession) return signedInByPassword(who);
    browser.cookies.set('__Host-session', await startSession(who));
    // Gets the other cookies of a browser that has signed in.
    await browser.open('/sign-out');
    return browser;
  }

  /** Opens the authorize endpoint, and clicks Allow if consent is needed. */
  async function authorize(changes: Record<string, string | undefined> = {}, browser?: Browser): Promise<BrowserPage> {
    const used = browser ?? (await signedIn());
    const page = await used.open(authorizeUrl(changes));
    return page.status === 200 ? used.submit(page, '/consent', { decision: 'allow' }) : page;
  }

  async function allow(changes: Record<string, string | undefined> = {}, browser?: Browser): Promise<string> {
    const page = await authorize(changes, browser);
    const code = page.leftTo?.searchParams.get('code');
    assert.ok(code, `a code came back, not ${page.status} ${page.leftTo} ${page.text}`);
    return code;
  }

  /** Every response is also validated against the server's OpenAPI document. */
  const validator = once(() => fetchResponseValidator(api, variables?.()));
  async function read(request: ApiRequest, response: Response): Promise<ApiResponse> {
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    const result = { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    scanResponse({
      method: request.method,
      url: response.url,
      status: response.status,
      headers: response.headers,
      text,
    });
    rememberSecret('access token', result.body.access_token);
    rememberSecret('refresh token', result.body.refresh_token);
    (await validator())(request, result);
    return result;
  }

  const post = async (path: string, fields: Fields, headers: Record<string, string> = {}): Promise<ApiResponse> => {
    const address = `/api/v1/oauth/${path}`;
    const response = await fetch(api + address, {
      method: 'POST',
      headers: { ...encode(fields).headers, ...headers },
      body: encode(fields).body,
    });
    return read({ method: 'POST', path: address }, response);
  };

  const exchange = (code: string, changes: Fields = {}) =>
    post('token', { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, ...credentials, ...changes });

  const refresh = (token: string, changes: Fields = {}) =>
    post('token', { grant_type: 'refresh_token', refresh_token: token, ...credentials, ...changes });

  async function connect(changes: Record<string, string | undefined> = {}, browser?: Browser): Promise<Tokens> {
    const response = await exchange(await allow(changes, browser));
    assert.equal(response.status, 200, JSON.stringify(response.body));
    return response.body;
  }

  const get = async (path: string, headers: Record<string, string> = {}): Promise<ApiResponse> =>
    read({ method: 'GET', path }, await fetch(`${api}${path}`, { headers }));

  /** Sends no body if `body` is undefined. */
  const sendJson = async (method: string, path: string, body: unknown, headers: Record<string, string> = {}) => {
    const content: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = {
      method,
      headers: { ...content, ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    };
    return read({ method, path }, await fetch(`${api}${path}`, sent));
  };

  return {
    credentials,
    sendJson,
    authorizeUrl,
    signedIn,
    signedInByPassword,
    authorize,
    allow,
    post,
    exchange,
    refresh,
    connect,
    get,
    revoke: (token: unknown, changes: Fields = {}) => post('revoke', { token, ...changes }),
    introspect: (token: unknown, changes: Fields = {}) => post('introspect', { token, ...credentials, ...changes }),
    listInvoices: (token: string, headers: Record<string, string> = {}, query = '') =>
      get(`/api/v1/accounting/invoices${query}`, {
        authorization: `Bearer ${token}`,
        'x-business-id': business.id,
        ...headers,
      }),
  };
}

/** Encodes as JSON, or as a form if `SENDS_FORMS` and all fields are strings. */
function encode(fields: Fields): { headers: Record<string, string>; body: string | URLSearchParams } {
  const sent = Object.entries(fields).filter(([, value]) => value !== undefined);
  const isOfTexts = sent.every((entry): entry is [string, string] => typeof entry[1] === 'string');
  if (SENDS_FORMS && isOfTexts) return { headers: {}, body: new URLSearchParams(sent) };
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(fields) };
}
