import { CHALLENGE, followToCode, nextState, VERIFIER, visit } from '../browse.ts';
import { type Running, readJson, type Tokens, WrongAnswer } from '../contender.ts';
import { REDIRECT_URI } from '../seed.ts';
import { type Answer, get, postForm, type Request } from '../wire.ts';
import { CLIENT } from './peer.ts';

/** What is different from one peer to the next; all of them take forms, and the app's credentials in them. */
interface PeerManners {
  origin: string;
  clientId: string;
  scope: string;
  paths: Record<'authorize' | 'token' | 'call' | 'introspect' | 'revoke', string>;
  welcome: Running['welcome'];
  /** Whom the protected call should be about. */
  subjectAt(place: number): string | undefined;
}

export function speakToPeer(manners: PeerManners): Omit<Running, 'pid' | 'stop'> {
  const { origin, clientId, scope, paths, welcome, subjectAt } = manners;
  const post = (path: string, fields: Record<string, string>) =>
    postForm(origin, path, { ...fields, client_id: clientId, client_secret: CLIENT.secret });
  const codeFields = { grant_type: 'authorization_code', redirect_uri: REDIRECT_URI, code_verifier: VERIFIER };
  return {
    introspects: true,
    revokes: true,
    welcome,
    async authorize(lane, visitor) {
      const state = nextState();
      const way = { origins: [origin], redirectUri: REDIRECT_URI, state };
      return followToCode(lane, visitor, visit(visitor, authorizeUrl(manners, state)), way);
    },
    exchange: (code) => post(paths.token, { ...codeFields, code }),
    refresh: (token) => post(paths.token, { grant_type: 'refresh_token', refresh_token: token }),
    readTokens: (request, answer) => readTokens(request, answer, scope),
    call: (_, token) => get(origin, paths.call, { authorization: `Bearer ${token}` }),
    checkCall(request, answer, { place }) {
      if (readJson(request, answer).sub !== subjectAt(place)) {
        throw new WrongAnswer('It should be about the user.', request, answer);
      }
    },
    introspect: (token) => post(paths.introspect, { token }),
    checkIntrospection: (request, answer, isActive) => checkIntrospection(manners, request, answer, isActive),
    revoke: (token) => post(paths.revoke, { token, token_type_hint: 'refresh_token' }),
    checkRevocation(request, answer) {
      if (answer.status !== 200) throw new WrongAnswer('It should be 200.', request, answer);
    },
  };
}

export function authorizeUrl(
  { origin, clientId, scope, paths }: Omit<PeerManners, 'welcome' | 'subjectAt'>,
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
  { clientId, scope }: PeerManners,
  request: Request,
  answer: Answer,
  isActive: boolean,
): void {
  const { active, client_id, scope: said } = readJson(request, answer);
  const isRight = active === isActive && (!isActive || (client_id === clientId && said === scope));
  if (!isRight) throw new WrongAnswer(`It should say active: ${isActive}.`, request, answer);
}

function readTokens(request: Request, answer: Answer, scope: string): Tokens {
  const { access_token, refresh_token, token_type, expires_in, scope: given } = readJson(request, answer);
  const isRight =
    access_token?.length > 20 &&
    refresh_token?.length > 20 &&
    token_type === 'Bearer' &&
    Math.abs(expires_in - 3600) <= 1 &&
    given === scope;
  if (!isRight) throw new WrongAnswer('It should be a pair of tokens with their scope.', request, answer);
  return { access: access_token, refresh: refresh_token };
}
