import { createHash } from 'node:crypto';
import { UnexpectedResponse, type Visitor } from './contender.ts';
import { get, type HttpClient, type HttpRequest, type HttpResponse, headerOf } from './http-client.ts';

/** Every flow uses PKCE (RFC 7636). */
export const VERIFIER = 'a-verifier-of-the-benchmark-long-enough-for-rfc-7636';
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

const MAX_REDIRECTS = 8;
let requests = 0;

/** A new state for each request. Hydra rejects one of fewer than eight characters. */
export function nextState(): string {
  requests += 1;
  return `state-of-${requests}`;
}

interface FlowTarget {
  origins: readonly string[];
  redirectUri: string;
  state: string;
}

/** Follows redirects, as a browser does, to the redirect URI of the app. Returns the code. */
export async function followToCode(
  client: HttpClient,
  visitor: Visitor,
  first: HttpRequest,
  target: FlowTarget,
): Promise<string> {
  let request = first;
  for (let redirects = 0; redirects < MAX_REDIRECTS; redirects += 1) {
    const response = await client.ask(request);
    storeCookies(visitor, response);
    const location = headerOf(response, 'location');
    if (location === undefined || response.status < 300 || response.status > 399) {
      throw new UnexpectedResponse('The response should be a redirect.', request, response);
    }
    if (location.startsWith(target.redirectUri)) return readCode(location, target.state, request, response);
    request = getPage(visitor, new URL(location, request.origin));
    if (!target.origins.includes(request.origin))
      throw new UnexpectedResponse('The redirect goes to another origin.', request, response);
  }
  throw new Error('There are too many redirects.');
}

export function getPage(visitor: Visitor, { origin, pathname, search }: URL): HttpRequest {
  return get(origin, pathname + search, { cookie: visitor.cookie });
}

export function readCode(location: string, state: string, request: HttpRequest, response: HttpResponse): string {
  const { searchParams } = new URL(location);
  const code = searchParams.get('code');
  if (!code || searchParams.get('state') !== state) {
    throw new UnexpectedResponse('The redirect should have a code and the state of the request.', request, response);
  }
  return code;
}

/** An empty value removes a cookie. */
export function storeCookies(visitor: Visitor, { head }: HttpResponse): void {
  const sent = [...head.matchAll(/\r\nset-cookie: *([^;\r=]+)=([^;\r]*)/gi)];
  if (sent.length === 0) return;
  const jar = new Map(visitor.cookie.split('; ').filter(Boolean).map(splitCookie));
  for (const [, name = '', value = ''] of sent) {
    if (value === '') jar.delete(name);
    else jar.set(name, value);
  }
  visitor.cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
}

function splitCookie(pair: string): [name: string, value: string] {
  const index = pair.indexOf('=');
  return [pair.slice(0, index), pair.slice(index + 1)];
}
