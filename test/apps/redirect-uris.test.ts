import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRegistered, readRedirectUris } from '../../src/apps/redirect-uris.ts';
import { FormError } from '../../src/lib/errors.ts';

const GOOD = [
  'https://app.example/',
  'https://app.example/callback',
  'https://app.example:8443/callback',
  'https://app.example/callback?tenant=a%20b&x=',
  'https://app.example/a/b/%7Euser',
  'https://xn--bcher-kva.example/callback',
  'https://192.0.2.1/callback',
  'http://localhost/callback',
  'http://localhost:3000/callback',
  'http://127.0.0.1/callback',
  'http://127.0.0.1:8080/callback',
  'http://[::1]/callback',
  'http://[::1]:8080/callback',
];

for (const uri of GOOD) {
  test(`may be registered: ${uri}`, () => {
    assert.deepEqual(readRedirectUris([uri]), [uri]);
  });
}

const BAD: [why: string, uri: string][] = [
  ['plain http [A5]', 'http://app.example/callback'],
  ['plain http on a name that only begins like a loopback [A5]', 'http://localhost.evil.example/callback'],
  ['plain http on another loopback address [A5]', 'http://127.0.0.2/callback'],
  ['plain http on an address of every interface [A5]', 'http://0.0.0.0/callback'],
  ['a fragment [A5]', 'https://app.example/callback#x'],
  ['an empty fragment [A5]', 'https://app.example/callback#'],
  ['a user name [A5]', 'https://me@app.example/callback'],
  ['a user name and password [A5]', 'https://me:pass@app.example/callback'],
  ['an empty user name [A5]', 'https://@app.example/callback'],
  ['a wildcard host [A5]', 'https://*.app.example/callback'],
  ['a wildcard path [A5]', 'https://app.example/*'],
  ['a script [A6]', 'javascript:alert(1)'],
  ['a script in other letters [A6]', 'JaVaScRiPt:alert(1)'],
  ['a script behind a control character [A6]', '\u0001javascript:alert(1)'],
  ['a script broken by a tab [A6]', 'java\tscript:alert(1)'],
  ['a script broken by a line break [A6]', 'java\nscript:alert(1)'],
  ['a script that looks like an address [A6]', 'javascript://app.example/%0aalert(1)'],
  ['data [A6]', 'data:text/html,<script>alert(1)</script>'],
  ['vbscript [A6]', 'vbscript:msgbox(1)'],
  ['a blob [A6]', 'blob:https://app.example/0190a6c6'],
  ['a file [A6]', 'file:///etc/passwd'],
  ['a scheme of an app', 'com.example.app:/callback'],
  ['ftp', 'ftp://app.example/callback'],
  ['no scheme', 'app.example/callback'],
  ['no scheme but slashes', '//app.example/callback'],
  ['a path only', '/callback'],
  ['no host', 'https:///callback'],
  ['nothing but a scheme', 'https://'],
  ['a host in capitals, which no browser would send back', 'https://APP.example/callback'],
  ['a scheme in capitals', 'HTTPS://app.example/callback'],
  ['an explicit default port', 'https://app.example:443/callback'],
  ['no path at all', 'https://app.example'],
  ['a path that climbs', 'https://app.example/a/../callback'],
  ['an encoded path that climbs', 'https://app.example/a/%2e%2e/callback'],
  ['a backslash', 'https://app.example\\callback'],
  ['a space', 'https://app.example/call back'],
  ['a tab', 'https://app.example/call\tback'],
  ['a line break', 'https://app.example/call\nback'],
  ['a letter that must be encoded', 'https://app.example/büro'],
  ['a host in another script', 'https://bücher.example/callback'],
  ['a broken percent-encoding', 'https://app.example/%zz'],
  ['an address in octal', 'http://0177.0.0.1/callback'],
  ['an address in one number', 'http://2130706433/callback'],
  ['an address with parts left out', 'http://127.1/callback'],
  ['an IPv6 address written out', 'http://[0:0:0:0:0:0:0:1]/callback'],
  ['brackets, which only an address may have', 'https://app.example/callback?list[]=1'],
  ['a quote', 'https://app.example/"onload="'],
  ['markup', 'https://app.example/<script>'],
  ...['code', 'state', 'error', 'error_description', 'error_uri', 'iss'].map((name): [string, string] => [
    `a parameter of the response in its query: ${name}`,
    `https://app.example/callback?tenant=a&${name}=x`,
  ]),
  ['a parameter of the response in its query, encoded', 'https://app.example/callback?%63ode=x'],
  ['more than 2000 characters', `https://app.example/${'x'.repeat(2000)}`],
];

for (const [why, uri] of BAD) {
  test(`may not be registered: ${why}`, () => {
    assert.throws(() => readRedirectUris(['https://good.example/', uri]), FormError);
  });
}

test('no scheme that a browser would run or open automatically can be registered, however it is written [A6]', () => {
  for (const scheme of ['javascript', 'data', 'vbscript', 'blob', 'file']) {
    const [first, rest] = [scheme.slice(0, 1), scheme.slice(1)];
    for (const written of [
      scheme.toUpperCase(),
      first.toUpperCase() + rest,
      ...['\u0000', '\u0001', '\t', '\n', '\r', '\u001f', '\u007f', '\u00a0', '\u200b'].flatMap((odd) => [
        odd + scheme,
        first + odd + rest,
        scheme + odd,
      ]),
    ]) {
      for (const uri of [`${written}:alert(1)`, `${written}://app.example/callback`]) {
        assert.throws(() => readRedirectUris([uri]), FormError, JSON.stringify(uri));
      }
    }
  }
});

test('an app has 1 to 20 redirect URIs; spaces around one, empty lines and repetitions do not count', () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => `https://app.example/${i}`);

  assert.deepEqual(readRedirectUris([' https://app.example/a ', '', 'https://app.example/a']), [
    'https://app.example/a',
  ]);
  assert.equal(readRedirectUris(many(20)).length, 20);
  assert.throws(() => readRedirectUris(many(21)), FormError);
  assert.throws(() => readRedirectUris([]), FormError);
  assert.throws(() => readRedirectUris(['', ' ']), FormError);
});

test('the error names the field, quotes the URI and explains how to write it', () => {
  assert.throws(
    () => readRedirectUris(['https://app.example']),
    (error) =>
      error instanceof FormError &&
      error.field === 'redirect_uris' &&
      error.message === 'https://app.example: write it as https://app.example/',
  );
});

test('the error names the parameter of the response that a redirect URI has', () => {
  assert.throws(
    () => readRedirectUris(['https://app.example/?a=b&state=x']),
    /its query has state, which the response adds/,
  );
});

test('a parameter whose name only begins like one of the response may be registered', () => {
  assert.equal(readRedirectUris(['https://app.example/?states=x&my_code=y']).length, 1);
});

test('every wrong redirect URI is named at once, each on a line of its own', () => {
  const typed = ['https://app.example', 'https://good.example/', 'http://app.example/a', 'https://app.example/#x'];

  assert.throws(
    () => readRedirectUris(typed),
    (error) => {
      assert.ok(error instanceof FormError);
      assert.deepEqual(error.message.split('\n'), [
        'https://app.example: write it as https://app.example/',
        'http://app.example/a: use https, or http on localhost, 127.0.0.1 or [::1].',
        'https://app.example/#x: a redirect URI has no fragment (#).',
      ]);
      return true;
    },
  );
});

test('a redirect URI matches only if it is identical, except for the port of a loopback IP address [A2][A4]', () => {
  const registered = [
    'https://app.example/callback',
    'http://127.0.0.1:5000/callback',
    'http://localhost:5000/callback',
  ];

  const ports = ['http://127.0.0.1/callback', 'http://127.0.0.1:1/callback', 'http://127.0.0.1:80/callback'];
  for (const uri of [...registered, ...ports]) {
    assert.equal(isRegistered(registered, uri), true, uri);
  }
  for (const uri of [
    'https://app.example:1/callback',
    'http://localhost:1/callback',
    'http://[::1]:5000/callback',
    'http://127.0.0.1:5000/callback/',
    'http://127.0.0.1:5000/callback#x',
    'http://127.0.0.1:99999/callback',
    'http://127.0.0.1:080/callback',
    'http://127.0.0.1:/callback',
    'http://127.0.0.1:5000\\@evil.example/callback',
    '',
  ]) {
    assert.equal(isRegistered(registered, uri), false, uri);
  }
});
