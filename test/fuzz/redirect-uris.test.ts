import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRedirectUris } from '../../src/apps/redirect-uris.ts';
import { FormError } from '../../src/lib/errors.ts';
import { sendRaw } from '../support/raw-http.ts';
import { startTestServer } from '../support/test-server.ts';
import { makeAddresses, makeVariants } from './addresses.ts';
import { parseUri } from './rfc3986.ts';

const COUNT = 2000;

function isAccepted(uri: string): boolean {
  try {
    return readRedirectUris([uri])[0] === uri;
  } catch (error) {
    if (error instanceof FormError) return false;
    throw error;
  }
}

/** How a browser parses it, and how RFC 3986 does. */
function meanings(uri: string) {
  const url = URL.parse(uri);
  const parsed = parseUri(uri);
  return {
    url: url && [url.protocol, url.username, url.hostname, url.port, url.pathname, url.search, url.hash],
    uri: parsed && [
      `${parsed.scheme}:`,
      parsed.userinfo ?? '',
      parsed.host,
      parsed.port ?? '',
      parsed.path,
      parsed.query === undefined ? '' : `?${parsed.query}`.replace(/^\?$/, ''),
      parsed.fragment === undefined ? '' : `#${parsed.fragment}`,
    ],
  };
}

test('of 2,000 URIs only those can be registered that WHATWG URL and RFC 3986 parse alike [A5][A6]', () => {
  const accepted = makeAddresses(1, COUNT).filter(isAccepted);

  for (const uri of accepted) {
    const { url, uri: parsed } = meanings(uri);
    assert.ok(url && parsed, `${uri} is no URI`);
    assert.deepEqual(url, parsed, uri);
    assert.match(uri, /^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/])[^#*\\]*$/);
    assert.equal(url[1], '', uri);
  }
  assert.ok(accepted.length > 50 && accepted.length < COUNT / 2, String(accepted.length));
});

const REGISTERED = [
  'https://app.example/callback',
  'https://app.example:8443/a/callback?tenant=1',
  'http://127.0.0.1/callback',
  'http://[::1]:8080/callback',
  'http://localhost:3000/callback',
];

/** The matching registered URI: identical, except for the port of a loopback IP address. */
function registeredAs(uri: string): string | undefined {
  const withoutPort = (text: string) => {
    const parsed = parseUri(text);
    const isFree = parsed?.scheme === 'http' && ['127.0.0.1', '[::1]'].includes(parsed.host);
    return isFree ? JSON.stringify({ ...parsed, port: undefined }) : text;
  };
  return REGISTERED.find((each) => withoutPort(each) === withoutPort(uri));
}

test('none of 2,000 variants of registered URIs redirects anywhere but to the registered URI [A2][A3][A4]', async () => {
  const server = await startTestServer();
  const { id } = await server.addApp({ ownerBusinessId: server.acme.id, redirectUris: REGISTERED });
  const authorize = async (redirect_uri: string) => {
    // With an unknown scope, the response to a valid request goes to the redirect URI immediately.
    const url = new URL(server.authorizeUrl({ client_id: id, redirect_uri, scope: 'read:nothing' }));
    return { redirect_uri, ...(await sendRaw(server.api, { path: url.pathname + url.search })) };
  };
  const variants = makeVariants(REGISTERED, 2, COUNT);
  const responses = [];
  for (let start = 0; start < COUNT; start += 50) {
    responses.push(...(await Promise.all(variants.slice(start, start + 50).map(authorize))));
  }

  const redirected = responses.filter(({ location }) => location !== null);
  for (const { redirect_uri, location, status } of redirected) {
    assert.equal(status, 303);
    assert.ok(registeredAs(redirect_uri), `${redirect_uri} leads to ${location}`);
    assert.equal(location?.replace(/[?&]error=.*$/s, ''), redirect_uri);
    assert.equal(new URL(location ?? '').hostname, new URL(redirect_uri).hostname);
  }
  assert.ok(responses.every(({ status, location }) => (location === null ? status === 400 : status === 303)));
  assert.ok(redirected.length > 10 && redirected.length < COUNT / 4, String(redirected.length));
});
