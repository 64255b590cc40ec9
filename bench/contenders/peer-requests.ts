import { CHALLENGE, followToCode, getPage, nextState, VERIFIER } from '../browse.ts';
import { type RunningServer, readJson, type Tokens, UnexpectedResponse } from '../contender.ts';
import { get, type HttpRequest, type HttpResponse, postForm } from '../http-client.ts';
import { REDIRECT_URI } from '../seed.ts';
import { CLIENT } from './peer.ts';

/** What differs between the peers. All of them accept forms with the credentials of the app. */
interface PeerOptions {
  origin: string;
  clientId: string;
  scope: string;
  paths: Record<'authorize' | 'token' | 'call' | 'introspect' | 'revoke', string>;
  signIn: RunningServer['signIn'];
  /** The expected subject of the protected call. */
  subjectAt(index: number): string | undefined;
}

export function peerRequests(peer: PeerOptions): Omit<RunningServer, 'pid' | 'stop'> {
  const { origin, clientId, scope, paths, signIn, subjectAt } = peer;
  const post = (path: string, fields: Record<string, string>) =>
    postForm(origin, path, { ...fields, client_id: clientId, client_secret: CLIENT.secret });
  const codeFields = { grant_type: 'authorization_code', redirect_uri: REDIRECT_URI, code_verifier: VERIFIER };
  return {
    introspects: true,
    revokes: true,
    signIn,
    async authorize(client, visitor) {
      const state = nextState();
      const target = { origins: [origin], redirectUri: REDIRECT_URI, state };
      return followToCode(client, visitor, getPage(visitor, authorizeUrl(peer, state)), target);
    },
    exchange: (code) => post(paths.token, { ...codeFields, code }),
    refresh: (token) => post(paths.token, { grant_type: 'refresh_token', refresh_token: token }),
    readTokens: (request, response) => readTokens(request, response, scope),
    call: (_, token) => get(origin, paths.call, { authorization: `Bearer ${token}` }),
    checkCall(request, response, { index }) {
      if (readJson(request, response).sub !== subjectAt(index)) {
        throw new UnexpectedResponse('The subject should be the user.', request, response);
      }
    },
    introspect: (token) => post(paths.introspect, { token }),
    checkIntrospection: (request, response, isActive) => checkIntrospection(peer, request, response, isActive),
    revoke: (token) => post(paths.revoke, { token, token_type_hint: 'refresh_token' }),
    checkRevocation(request, response) {
      if (response.status !== 200) throw new UnexpectedResponse('The status should be 200.', request, response);
    },
  };
}

export function authorizeUrl(
  { origin, clientId, scope, paths }: Omit<PeerOptions, 'signIn' | 'subjectAt'>,
  state: string,
) {
  const query = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    scope,
    state,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
  };
  return new URL(`${origin}${paths.authorize}?${new URLSearchParams(query)}`);
}

function checkIntrospection(
  { clientId, scope }: PeerOptions,
  request: HttpRequest,
  response: HttpResponse,
  isActive: boolean,
): void {
  const { active, client_id, scope: returned } = readJson(request, response);
  const isExpected = active === isActive && (!isActive || (client_id === clientId && hasScopes(returned, scope)));
  if (!isExpected) throw new UnexpectedResponse(`active should be ${isActive}.`, request, response);
}

function readTokens(request: HttpRequest, response: HttpResponse, scope: string): Tokens {
  const { access_token, refresh_token, token_type, expires_in, scope: granted } = readJson(request, response);
  const isExpected =
    access_token?.length > 20 &&
    refresh_token?.length > 20 &&
    token_type?.toLowerCase() === 'bearer' &&
    Math.abs(expires_in - 3600) <= 1 &&
    hasScopes(granted, scope);
  if (!isExpected)
    throw new UnexpectedResponse('The body should be a pair of tokens with their scope.', request, response);
  return { access: access_token, refresh: refresh_token };
}

/** In any order. */
function hasScopes(granted: string | undefined, wanted: string): boolean {
  return granted?.split(' ').sort().join(' ') === wanted.split(' ').sort().join(' ');
}
