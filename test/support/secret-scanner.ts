import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import type { Keyring } from '../../src/lib/keyring.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { secretsOf } from '../../src/webhooks/endpoint-secrets.ts';
import { assertNoSecrets, isScanning, rememberSecret } from './leaks.ts';

/** Routes that issue secrets, and of which kinds. */
const ISSUING_ROUTES: [route: RegExp, kinds: string[]][] = [
  [/^POST \/(?:settings\/developer|platform\/developer\/apps)(?:\/[\w-]+\/secrets)?$/, ['client secret']],
  [/^POST \/[\w/-]+\/endpoints(?:\/[\w-]+\/secret)?$/, ['signing secret']],
  [/^POST \/settings\/members\/invite$/, ['link of an invitation']],
  [/^POST \/(?:settings\/members|platform\/users)\/[\w-]+\/password-link$/, ['link to set a password']],
  [/^POST \/[\w/-]+\/passkeys?\/options$/, ['challenge']],
  [/^POST \/api\/v1\/oauth\/token$/, ['access token', 'refresh token']],
];

/** Routes whose responses, including errors, repeat secrets of the request. */
const ECHOING_ROUTES: typeof ISSUING_ROUTES = [
  [/^\w+ \/(?:invitation\/|sign-in)/, ['link of an invitation']],
  [/^\w+ \/password\//, ['link to set a password']],
  [/^\w+ \/(?:settings\/address\/|sign-in)/, ['link to confirm an address']],
  // The set-up is shown again after a wrong code.
  [/^\w+ \/settings\/two-step/, ['authenticator secret', 'recovery code']],
  // The playground shows codes and tokens to users who may change the app.
  [/^\w+ \/[\w/-]+\/try(?:\/|$)/, ['code', 'access token', 'refresh token']],
];

export interface ScannedResponse {
  method: string;
  url: string;
  status: number;
  headers: Headers | IncomingHttpHeaders;
  text: string;
}

/** Records issued secrets, and fails if the response contains others. */
export function scanResponse({ method, url, status, headers: receivedHeaders, text }: ScannedResponse): void {
  if (!isScanning) return;
  const headers = receivedHeaders instanceof Headers ? receivedHeaders : toHeaders(receivedHeaders);
  const { pathname } = new URL(url);
  const request = `${method} ${pathname}`;
  const routes = status < 400 ? [...ISSUING_ROUTES, ...ECHOING_ROUTES] : ECHOING_ROUTES;
  const issuedKinds = routes.filter(([route]) => route.test(request)).flatMap(([, kinds]) => kinds);
  const scanned = [...headers].filter(([name]) => name !== 'set-cookie' && name !== 'location');
  assertNoSecrets(`the response to ${request} (${status})`, `${JSON.stringify(scanned)} ${text}`, issuedKinds);
  rememberIssuedSecrets(headers, issuedKinds.length > 0 ? text : '');
}

/** `fetch` that scans the response. */
export async function scannedFetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init);
  if (isScanning) {
    const { status, headers } = response;
    scanResponse({
      method: init.method ?? 'GET',
      url: String(url),
      status,
      headers,
      text: await response.clone().text(),
    });
  }
  return response;
}

/** Converts the headers of `node:http`. */
export function toHeaders(headers: IncomingHttpHeaders): Headers {
  return new Headers(Object.entries(headers).flatMap(([name, value = []]) => [value].flat().map((one) => [name, one])));
}

function rememberIssuedSecrets(headers: Headers, page: string): void {
  for (const cookie of headers.getSetCookie()) {
    const [, name, value] = /^__Host-([\w-]+)=([^;]+)/.exec(cookie) ?? [];
    rememberSecret(`cookie ${name}`, value);
  }
  const location = URL.parse(headers.get('location') ?? '', 'http://nowhere');
  rememberSecret('code', location?.searchParams.get('code'));
  for (const [secret] of page.matchAll(/gcs_[\w-]{43}/g)) rememberSecret('client secret', secret);
  for (const [secret] of page.matchAll(/whsec_[\w+/]{32,}=*/g)) rememberSecret('signing secret', secret);
  for (const [, link] of page.matchAll(/\/invitation\/([\w-]{43})</g)) rememberSecret('link of an invitation', link);
  for (const [, link] of page.matchAll(/\/password\/([\w-]{43})</g)) rememberSecret('link to set a password', link);
  for (const [token] of page.matchAll(/gat_[\w-]{60,}/g)) rememberSecret('access token', token);
  for (const [token] of page.matchAll(/grt_[\w-]{60,}/g)) rememberSecret('refresh token', token);
}

/** Records submitted passwords and client secrets as secrets, including wrong ones. */
export function rememberTypedSecrets(body: RequestInit['body']): void {
  if (!isScanning || !(body instanceof URLSearchParams)) return;
  // An email address as a password is rejected, and is not secret.
  const typed = ['password', 'current_password'].map((name) => body.get(name) ?? '');
  for (const password of typed) if (!password.includes('@')) rememberSecret('password', password);
  rememberSecret('client secret', body.get('client_secret'));
}

/** Reads signing secrets from the database: most tests insert them there, and no page shows them. */
export async function rememberSigningSecrets(storage: Storage, keys: Keyring): Promise<void> {
  if (!isScanning) return;
  // A test may have broken the database.
  const rows = await storage.durable
    .selectFrom('endpoints')
    .selectAll()
    .execute()
    .catch(() => []);
  for (const secret of rows.flatMap((row) => secretsOf(keys, row, 0))) rememberSecret('signing secret', secret);
}

/** All stored bytes: the files of SQLite, with free pages and log; or every row of PostgreSQL. */
export async function readDatabaseBytes(storage: Storage, folder: string): Promise<Uint8Array[]> {
  if (!isScanning) return [];
  const files = readdirSync(folder).filter((name) => name.includes('.db'));
  if (files.length > 0) return files.map((name) => readFileSync(join(folder, name)));
  const tables = await storage.durable.introspection.getTables();
  const stored: Uint8Array[] = [];
  // One after the other: all at once, they would open as many connections as there are tables.
  for (const { name } of tables) {
    const found = await storage.durable
      .selectFrom(name as 'users')
      .selectAll()
      .execute();
    stored.push(Buffer.from(found.map((row) => Object.values(row).map(toText).join('\n')).join('\n'), 'latin1'));
  }
  return stored;
}

function toText(value: unknown): string {
  return value instanceof Uint8Array
    ? Buffer.from(value).toString('latin1')
    : Buffer.from(String(value)).toString('latin1');
}
