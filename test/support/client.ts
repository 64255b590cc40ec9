import assert from 'node:assert/strict';
import type { Business } from '../../src/accounts/businesses.ts';
import type { User } from '../../src/accounts/users.ts';
import type { Browser, Visited } from './browser.ts';
import { PASSWORD, REDIRECT_URI, type RegisteredApp } from './people.ts';

/** An answer of the API, read whole. `body` is whatever JSON it was. */
export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came, and asserts what it should be.
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

interface Setting {
  api: string;
  browse: () => Browser;
  user: User;
  app: RegisteredApp;
  business: Business;
}

export type Client = ReturnType<typeof newClient>;

/** What an app does, over HTTP, with the world's own app, user and business unless told otherwise. */
export function newClient({ api, browse, user, app, business }: Setting) {
  const credentials = { client_id: app.id, client_secret: app.secret };

  function authorizeUrl(changes: Record<string, string | undefined> = {}): string {
    const usual = {
      response_type: 'code',
      client_id: app.id,
      redirect_uri: REDIRECT_URI,
      scope: 'read:invoices',
      state: 'state-1',
    };
    const given = Object.entries({ ...usual, ...changes }).filter(
      (pair): pair is [string, string] => pair[1] !== undefined,
    );
    return `${api}/api/v1/oauth/authorize?${new URLSearchParams(given)}`;
  }

  async function signedIn(who: User = user): Promise<Browser> {
    const browser = browse();
    await browser.signIn(who.email, PASSWORD);
    return browser;
  }

  /** Through the authorize endpoint, and Allow where it is asked. */
  async function authorize(changes: Record<string, string | undefined> = {}, browser?: Browser): Promise<Visited> {
    const used = browser ?? (await signedIn());
    const page = await used.open(authorizeUrl(changes));
    return page.status === 200 ? used.submit(page, '/consent', { answer: 'allow' }) : page;
  }

  async function allow(changes: Record<string, string | undefined> = {}, browser?: Browser): Promise<string> {
    const answer = await authorize(changes, browser);
    const code = answer.leftTo?.searchParams.get('code');
    assert.ok(code, `a code came back, not ${answer.status} ${answer.leftTo} ${answer.text}`);
    return code;
  }

  const post = async (path: string, fields: Fields, headers: Record<string, string> = {}): Promise<Answer> => {
    const response = await fetch(`${api}/api/v1/oauth/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(fields),
    });
    return read(response);
  };

  const exchange = (code: string, changes: Fields = {}) =>
    post('token', { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, ...credentials, ...changes });

  const refresh = (token: string, changes: Fields = {}) =>
    post('token', { grant_type: 'refresh_token', refresh_token: token, ...credentials, ...changes });

  async function connect(changes: Record<string, string | undefined> = {}, browser?: Browser): Promise<Tokens> {
    const answer = await exchange(await allow(changes, browser));
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  }

  const get = async (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    read(await fetch(`${api}${path}`, { headers }));

  return {
    credentials,
    authorizeUrl,
    signedIn,
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

async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}
