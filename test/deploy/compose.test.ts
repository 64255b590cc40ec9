import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readSettings } from '../../src/config/settings.ts';
import { SERVER_TIMEOUTS } from '../../src/http/timeouts.ts';
import { newSecret } from '../../src/lib/secrets.ts';
import { createCommandLine } from '../support/command-line.ts';
import { readCompose } from './compose.ts';
import { readImage, readText, SHUTDOWN, unknownVariables, version } from './files.ts';

const compose = readCompose({ API_HOST: 'api.example.com', ACCOUNTS_HOST: 'accounts.example.com', TLS: 'internal' });
const { node1, node2, migrate, caddy, postgres } = compose.services;
const ours = { node1, node2, migrate };
const caddyfile = readText('deploy/caddy/Caddyfile');
const image = readImage();
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-compose-'));
after(() => rmSync(folder, { recursive: true }));

test('two equal nodes start when the migration has ended, and Caddy when both are ready', () => {
  assert.deepEqual(node1, node2);
  assert.deepEqual(node1?.depends_on, { migrate: { condition: 'service_completed_successfully' } });
  assert.deepEqual(migrate?.depends_on, { postgres: { condition: 'service_healthy' } });
  assert.deepEqual(Object.keys(caddy?.depends_on ?? {}), ['node1', 'node2']);
  assert.ok(postgres?.healthcheck?.test?.includes('pg_isready'));
});

for (const [name, service] of Object.entries(ours)) {
  test(`${name} runs a command of this version, on a read-only file system and as the user of the image`, async () => {
    const { status } = await createCommandLine().run([...(service?.command ?? []), '--help'], { asProcess: false });

    assert.equal(status, 0);
    assert.equal(service?.image, `gatehouse:${version}`);
    assert.equal(service?.user, image.user);
    assert.deepEqual([service?.read_only, service?.cap_drop], [true, ['ALL']]);
    assert.ok(service?.security_opt?.includes('no-new-privileges:true'));
    assert.ok(Number.parseInt(service?.stop_grace_period ?? '', 10) > SHUTDOWN);
  });

  test(`every variable of ${name} is a setting, and every file of a setting is a secret of the service`, () => {
    const variables = Object.entries(service?.environment ?? {});
    const files = variables.filter(([variable]) => variable.endsWith('_FILE')).map(([, file]) => file);

    assert.deepEqual(unknownVariables(variables.map(([variable]) => variable)), []);
    assert.deepEqual(files.sort(), service?.secrets?.map((secret) => `/run/secrets/${secret}`).sort());
    for (const secret of service?.secrets ?? []) assert.ok(compose.secrets[secret], secret);
  });
}

test('the settings of a node are accepted, and Caddy is the proxy that it trusts', () => {
  const { SECRET_KEYS_FILE, DATABASE_URL_FILE, ...rest } = node1?.environment ?? {};
  writeFileSync(join(folder, 'keys'), newSecret());
  writeFileSync(join(folder, 'url'), 'postgres://gatehouse:PASSWORD@postgres/gatehouse');

  const settings = readSettings({
    ...image.env,
    ...rest,
    SECRET_KEYS_FILE: join(folder, 'keys'),
    DATABASE_URL_FILE: join(folder, 'url'),
  });

  assert.ok(SECRET_KEYS_FILE && DATABASE_URL_FILE);
  assert.equal(settings.baseUrl, 'https://api.example.com');
  assert.equal(settings.trustProxy, caddy?.networks?.edge?.ipv4_address);
  const [network = '', prefix] = compose.networks.edge?.ipam?.config[0]?.subnet.split('/') ?? [];
  const subnet = new BlockList();
  subnet.addSubnet(network, Number(prefix));
  assert.ok(subnet.check(String(settings.trustProxy)));
});

test('only Caddy publishes ports, and the database is on a network without the internet', () => {
  const publishing = Object.entries(compose.services).filter(([, { ports }]) => ports);

  assert.deepEqual(
    publishing.map(([name]) => name),
    ['caddy'],
  );
  assert.deepEqual(postgres?.networks, ['database']);
  assert.equal(compose.networks.database?.internal, true);
});

test('Caddy sends each host to its port of both nodes, and checks /healthz', () => {
  const [api, web] = [image.env.LISTEN, image.env.CONSENT_LISTEN].map((address) => address?.split(':')[1]);

  assert.match(
    caddyfile,
    new RegExp(`^\\{\\$API_HOST\\} \\{\\s+tls .*\\s+reverse_proxy node1:${api} node2:${api} \\{`, 'm'),
  );
  assert.match(
    caddyfile,
    new RegExp(`^\\{\\$ACCOUNTS_HOST\\} \\{\\s+tls .*\\s+reverse_proxy node1:${web} node2:${web} \\{`, 'm'),
  );
  assert.match(caddyfile, new RegExp(`health_uri /healthz\n.*\n\\s*health_port ${api}\n`));
  for (const [, name = ''] of caddyfile.matchAll(/\{\$(\w+)\}/g)) assert.ok(caddy?.environment?.[name], name);
});

test('Caddy closes idle connections before a node does, so that no request is sent on a connection that closes', () => {
  const seconds = Number(/keepalive (\d+)s/.exec(caddyfile)?.[1]);

  assert.ok(seconds * 1000 < SERVER_TIMEOUTS.keepAliveTimeout);
});
