import { CHALLENGE, followToCode, nextState, VERIFIER, visit } from '../browse.ts';
import { type Running, readJson, type Tokens, type Visitor, WrongAnswer } from '../contender.ts';
import { REDIRECT_URI, SCOPE, type Seed } from '../seed.ts';
import { type Answer, get, type Lane, postJson, type Request } from '../wire.ts';

type Speech = Omit<Running, 'pid' | 'stop'>;

/** How Gatehouse is spoken to, and the bare server, which has the same addresses. */
export function speakToGatehouse({ app, people }: Seed, origins: readonly [api: string, ...others: string[]]): Speech {
  const [api] = origins;
  const credentials = { client_id: app.id, client_secret: app.secret };
  const post = (path: string, fields: object) => postJson(api, `/api/v1/oauth/${path}`, { ...fields, ...credentials });
  const personAt = (place: number) => people[place % people.length] ?? people[0];

  return {
    introspects: true,
    revokes: true,
    async welcome(_, place) {
      // As a browser that has been here before.
      const cookie = `__Host-session=${personAt(place)?.session}; __Host-visitor=visitor-${place}`;
      return { place, cookie };
    },
    async authorize(lane: Lane, visitor: Visitor) {
      const state = nextState();
      const first = visit({ ...visitor, cookie: '' }, authorizeUrl(api, app.id, state));
      return followToCode(lane, visitor, first, { origins, redirectUri: REDIRECT_URI, state });
    },
    exchange: (code) =>
      post('token', { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: VERIFIER }),
    refresh: (token) => post('token', { grant_type: 'refresh_token', refresh_token: token }),
    readTokens,
    call: (visitor, token) =>
      get(api, '/api/v1/accounting/invoices', {
        authorization: `Bearer ${token}`,
        'x-business-id': personAt(visitor.place)?.businessId ?? '',
      }),
    checkCall: (request, answer, visitor) => checkInvoices(request, answer, personAt(visitor.place)?.invoiceIds ?? []),
    introspect: (token) => post('introspect', { token }),
    checkIntrospection: (request, answer, isActive) => checkIntrospection(app.id, request, answer, isActive),
    revoke: (token) => post('revoke', { token }),
    checkRevocation(request, answer) {
      if (Object.keys(readJson(request, answer)).length > 0) {
        throw new WrongAnswer('It should be an empty object.', request, answer);
      }
    },
  };
}

function authorizeUrl(api: string, clientId: string, state: string): URL {
  const query = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    scope: SCOPE,
    state,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
  };
  return new URL(`${api}/api/v1/oauth/authorize?${new URLSearchParams(query)}`);
}

function checkIntrospection(appId: string, request: Request, answer: Answer, isActive: boolean): void {
  const { active, scope, client_id } = readJson(request, answer);
  const isRight = active === isActive && (!isActive || (scope === SCOPE && client_id === appId));
  if (!isRight) throw new WrongAnswer(`It should say active: ${isActive}.`, request, answer);
}

function readTokens(request: Request, answer: Answer): Tokens {
  const { access_token, refresh_token, token_type, expires_in, scope } = readJson(request, answer);
  const isRight =
    access_token?.startsWith('gat_') &&
    refresh_token?.startsWith('grt_') &&
    token_type === 'bearer' &&
    expires_in === 3600 &&
    scope === SCOPE;
  if (!isRight) throw new WrongAnswer('It should be a pair of tokens with their scope.', request, answer);
  return { access: access_token, refresh: refresh_token };
}

function checkInvoices(request: Request, answer: Answer, ids: string[]): void {
  const invoices = readJson(request, answer);
  const isRight =
    Array.isArray(invoices) && invoices.length === ids.length && ids.every((id, n) => invoices[n].id === id);
  if (!isRight) throw new WrongAnswer(`It should be the ${ids.length} invoices of the business.`, request, answer);
}
