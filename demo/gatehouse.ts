import { createHash, randomBytes } from 'node:crypto';

/** What an app needs to know of Gatehouse: where it is, and the credentials from its own registration. */
export interface Connection {
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  redirectUri: string;
}

export interface Tokens {
  access_token: string;
  token_type: string;
  expires_in: number;
  refresh_token: string;
  scope: string;
}

/** What has to be remembered between sending a user away and seeing them come back. */
export interface Departure {
  url: string;
  state: string;
  verifier: string;
}

export interface Invoice {
  id: string;
  number: string;
  status: string;
  total: string;
  currency: string;
  customerId: string;
}

/** Gatehouse refused, and said why. */
export class Refused extends Error {
  readonly code: string;

  constructor(code: string, description: string) {
    super(`${code}: ${description}`);
    this.code = code;
  }
}

export function departTo({ baseUrl, clientId, redirectUri }: Connection, scope: string): Departure {
  const state = randomBytes(16).toString('base64url');
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  return { url: `${baseUrl}/api/v1/oauth/authorize?${query}`, state, verifier };
}

export function exchangeCode(connection: Connection, code: string, verifier: string): Promise<Tokens> {
  return post<Tokens>(connection, 'token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: connection.redirectUri,
    code_verifier: verifier,
    ...credentials(connection),
  });
}

export function refreshTokens(connection: Connection, { refresh_token }: Tokens): Promise<Tokens> {
  return post<Tokens>(connection, 'token', { grant_type: 'refresh_token', refresh_token, ...credentials(connection) });
}

export async function revokeTokens(connection: Connection, { refresh_token }: Tokens): Promise<void> {
  await post(connection, 'revoke', { token: refresh_token });
}

/** The business that the token acts in, and its newest invoices. */
export async function readInvoices({ baseUrl }: Connection, { access_token }: Tokens) {
  const authorization = `Bearer ${access_token}`;
  const businesses = await read<{ id: string; name: string }[]>(`${baseUrl}/api/v1/businesses`, { authorization });
  const [business] = businesses;
  if (!business) throw new Refused('no_business', 'The token acts in no business.');
  const headers = { authorization, 'x-business-id': business.id };
  return { business, invoices: await read<Invoice[]>(`${baseUrl}/api/v1/accounting/invoices?limit=12`, headers) };
}

function credentials({ clientId, clientSecret }: Connection) {
  return { client_id: clientId, client_secret: clientSecret };
}

async function post<Answer>({ baseUrl }: Connection, path: string, body: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  return answerOf(
    await fetch(`${baseUrl}/api/v1/oauth/${path}`, { method: 'POST', headers, body: JSON.stringify(body) }),
  );
}

async function read<Answer>(url: string, headers: Record<string, string>): Promise<Answer> {
  return answerOf(await fetch(url, { headers }));
}

async function answerOf<Answer>(response: Response): Promise<Answer> {
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer.error, answer.error_description);
  return answer as Answer;
}
