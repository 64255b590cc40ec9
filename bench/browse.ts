import { createHash } from 'node:crypto';
import { type Visitor, WrongAnswer } from './contender.ts';
import { type Answer, get, headerOf, type Lane, type Request } from './wire.ts';

/** Every authorize request has a challenge (RFC 7636), as today's advice is, and every exchange answers it. */
export const VERIFIER = 'a-verifier-of-the-bench-that-is-long-enough-for-rfc-7636';
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

const MOST_HOPS = 8;
let asked = 0;

/** A request has a state of its own, which has to come back. */
export function nextState(): string {
  asked += 1;
  return `state-${asked}`;
}

interface Way {
  origins: readonly string[];
  redirectUri: string;
  state: string;
}

/** Goes where it is sent, as a browser does, until it is sent back to the app. Gives the code that it comes with. */
export async function followToCode(lane: Lane, visitor: Visitor, first: Request, way: Way): Promise<string> {
  let request = first;
  for (let hops = 0; hops < MOST_HOPS; hops += 1) {
    const answer = await lane.ask(request);
    keepCookies(visitor, answer);
    const location = headerOf(answer, 'location');
    if (location === undefined || answer.status < 300 || answer.status > 399) {
      throw new WrongAnswer('It should send the browser on.', request, answer);
    }
    if (location.startsWith(way.redirectUri)) return readCode(location, way.state, request, answer);
    request = visit(visitor, new URL(location, request.origin));
    if (!way.origins.includes(request.origin)) throw new WrongAnswer('It leads astray.', request, answer);
  }
  throw new Error('It sends the browser on and on.');
}

export function visit(visitor: Visitor, { origin, pathname, search }: URL): Request {
  return get(origin, pathname + search, { cookie: visitor.cookie });
}

function readCode(location: string, state: string, request: Request, answer: Answer): string {
  const { searchParams } = new URL(location);
  const code = searchParams.get('code');
  if (!code || searchParams.get('state') !== state) {
    throw new WrongAnswer('It should come with a code and the state that was sent.', request, answer);
  }
  return code;
}

/** Cookies by name; the last one counts, and an empty one is gone. */
export function keepCookies(visitor: Visitor, { head }: Answer): void {
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
  const place = pair.indexOf('=');
  return [pair.slice(0, place), pair.slice(place + 1)];
}
