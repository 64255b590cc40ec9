import { isRegistered } from '../../src/apps/redirect-uris.ts';
import type { Outcome, ParsedResponse, Sent } from './connection.ts';
import type { Product } from './product.ts';

/** Internals: a stack, a statement, a file, the name of an error. A script may name errors. */
const INSIDES =
  /\n\s+at .+:\d+:\d+|node_modules|SQLITE_[A-Z]+|Kysely|\b(?:Type|Range|Reference|Syntax)Error\b|\/src\/[a-z]/;

/** The problem of a response, or undefined. */
export async function judge(
  product: Product,
  { host, isTorn }: Pick<Sent, 'isTorn'> & { host: 'api' | 'web' },
  outcome: Outcome,
): Promise<string | undefined> {
  if (outcome === 'hang') return 'there was neither a response nor an end within 13 s';
  if (outcome === undefined) return isTorn ? undefined : 'the connection ended without a response';
  const headers = new Map(outcome.headers);
  const isPage = headers.get('content-type')?.startsWith('text/html');
  if (outcome.status < 200 || outcome.status >= 500) return `the response is ${outcome.status}: ${outcome.body}`;
  if (!headers.has('x-request-id')) return 'the response has no x-request-id';
  if (headers.get('x-content-type-options') !== 'nosniff') return 'the response does not forbid sniffing';
  if (isPage && !headers.get('content-security-policy')?.includes("default-src 'none'")) return 'the page has no CSP';
  const isScript = headers.get('content-type')?.startsWith('text/javascript');
  if (!isScript && INSIDES.test(outcome.body))
    return `the response shows its insides: ${INSIDES.exec(outcome.body)?.[0]}`;
  if (isKept(outcome, headers)) return 'a refusal or a token may be kept by a cache';
  if (outcome.status >= 400 && host === 'api' && !isPage && !namesError(outcome)) return 'the refusal has no name';
  if (repeatsHeader(outcome)) return 'the response has a header twice';
  const location = headers.get('location');
  return location === undefined || (await isOurs(product, host, location))
    ? undefined
    : `the response leads elsewhere: ${location}`;
}

function isKept({ status, body }: ParsedResponse, headers: Map<string, string>): boolean {
  const isJson = headers.get('content-type')?.startsWith('application/json');
  const isSecret = status >= 400 || body.startsWith('{"access_token"');
  return isJson === true && isSecret && headers.get('cache-control') !== 'no-store';
}

/** RFC 6749 §5.2. A response to HEAD has no body. */
function namesError({ body }: ParsedResponse): boolean {
  return body === '' || /^[a-z_]+$/.test(JSON.parse(body).error);
}

/** Repeated headers are ambiguous. Only Set-Cookie may repeat. */
function repeatsHeader({ headers }: ParsedResponse): boolean {
  const names = headers.map(([name]) => name).filter((name) => name !== 'set-cookie');
  return new Set(names).size < names.length;
}

/** Whether the target is one of our hosts, or a registered redirect URI. */
async function isOurs({ origins, storage }: Product, host: 'api' | 'web', location: string): Promise<boolean> {
  const { origin, href } = new URL(location, origins[host]);
  if (origin === origins.api || origin === origins.web) return true;
  const apps = await storage.durable.selectFrom('apps').select('redirect_uris').execute();
  const bare = href.replace(/[?&](?:code|error)=.*$/s, '');
  const ways = [bare, `${bare}?`, `${bare}&`];
  return apps.some(({ redirect_uris }) => ways.some((uri) => isRegistered(JSON.parse(redirect_uris), uri)));
}
