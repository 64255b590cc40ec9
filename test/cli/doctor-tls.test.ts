import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createPlainServer, type Server } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, afterEach, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { checkAddresses } from '../../src/cli/doctor/addresses.ts';
import { readSettings } from '../../src/config/settings.ts';
import { DAY } from '../../src/lib/clock.ts';
import { makeCertificate, NO_CERTIFICATES } from '../support/certificates.ts';

const skip = NO_CERTIFICATES;
const TRUSTED = getCACertificates('default');
afterEach(() => setDefaultCACertificates(TRUSTED));

async function portOf(server: Server): Promise<number> {
  server.listen(0);
  await once(server, 'listening');
  after(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** The findings about a server with this public address, which listens on this machine. */
async function examine(host: string, port: number, now: number) {
  const settings = readSettings({
    SECRET_KEYS: 'a-key-of-at-least-thirty-two-characters',
    BASE_URL: `https://${host}:${port}`,
    CONSENT_URL: `https://${host}:${port}`,
    LISTEN: String(port),
  });
  const findings = await checkAddresses(settings, now);
  return findings
    .filter(({ message }) => message.startsWith('BASE_URL'))
    .map(({ level, message }) => `${level}: ${message}`);
}

test('the doctor checks whether the certificate of an https address is trusted, matches the name, and is valid for long enough', {
  skip,
}, async () => {
  const { ends, ...certificate } = makeCertificate();
  const port = await portOf(createServer(certificate, (_, response) => response.end('{}')));
  const early = ends - 30 * DAY;

  const [untrusted] = await examine('localhost', port, early);
  setDefaultCACertificates([...TRUSTED, certificate.cert]);
  const good = await examine('localhost', port, early);
  const [late] = await examine('localhost', port, ends - 13 * DAY);
  const misnamed = [await examine('127.0.0.1', port, early), await examine('[::1]', port, early)];

  assert.match(
    untrusted ?? '',
    /^problem: BASE_URL: the TLS connection to localhost failed \(.*self-signed certificate.*\)\.$/,
  );
  assert.equal(good[0], 'ok: BASE_URL: its certificate is valid.');
  assert.equal(good[1], `ok: BASE_URL: https://localhost:${port}/readyz responds.`);
  assert.equal(late, `warning: BASE_URL: its certificate expires on ${new Date(ends).toISOString()}.`);
  for (const [first] of misnamed)
    assert.match(first ?? '', /^problem: BASE_URL: the TLS connection to .* failed .*IP.*not in the cert/);
});

test('the doctor reports an https address without TLS', async () => {
  const port = await portOf(createPlainServer((_, response) => response.end('{}')));

  const [first] = await examine('localhost', port, 0);

  assert.match(first ?? '', /^problem: BASE_URL: the TLS connection to localhost failed \(.+\)\.$/);
});
