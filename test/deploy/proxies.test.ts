import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SERVER_TIMEOUTS } from '../../src/http/timeouts.ts';
import { readImage, readText } from './files.ts';

const image = readImage();
const [api, web] = [image.env.LISTEN, image.env.CONSENT_LISTEN].map((address) => address?.split(':')[1]);

// `npm run check:deploy` runs both.
const PROXIES = {
  nginx: {
    text: readText('deploy/nginx/gatehouse.conf'),
    server: (port = '') => new RegExp(`^\\tserver 10\\.0\\.0\\.1[12]:${port} max_fails=0;$`, 'gm'),
    idle: /keepalive_timeout (\d+)s;/g,
    redirect: /listen 80;\n\tserver_name (\S+);\n\treturn 308 https:/,
  },
  HAProxy: {
    text: readText('deploy/haproxy/haproxy.cfg'),
    server: (port = '') => new RegExp(`^\\tserver node[12] 10\\.0\\.0\\.1[12]:${port}$`, 'gm'),
    idle: /timeout http-keep-alive (\d+)s/g,
    redirect: /redirect scheme https code 308 if \{ req\.hdr\(host\),field\(1,:\) -i (\S+) \}/,
  },
};

for (const [name, { text, server, idle, redirect }] of Object.entries(PROXIES)) {
  test(`${name} sends each host to its port of both nodes, and redirects people only`, () => {
    for (const port of [api, web]) assert.equal(text.match(server(port))?.length, 2, port);
    assert.equal(redirect.exec(text)?.[1], 'accounts.example.com');
  });

  test(`${name} closes idle connections before a node does, and routes by nothing that needs the database`, () => {
    const seconds = [...text.matchAll(idle)].map(([, found]) => Number(found));

    assert.ok(seconds.length > 0 && Math.max(...seconds) * 1000 < SERVER_TIMEOUTS.keepAliveTimeout, seconds.join());
    assert.doesNotMatch(text.replaceAll(/^\s*#.*$/gm, ''), /readyz/);
  });

  test(`${name} replaces the addresses that a client claims by its own`, () => {
    assert.match(text, /set[-_]header X-Forwarded-For (?:\$remote_addr;|%\[src\])$/m);
  });
}
