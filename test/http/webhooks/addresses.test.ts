import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { recordEvent } from '../../../src/events/events.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { insertEndpoint } from '../../../src/webhooks/endpoints.ts';
import { startCanaryServer } from '../../support/canary-server.ts';
import { startDnsServer } from '../../support/dns-server.ts';
import { startTestServer } from '../../support/test-server.ts';

const LOOPBACK = ['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', 'localhost', '[::1]'];
const MAPPED = ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]'];
const LOCAL = ['0.0.0.0', '[::]', '10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '[fc00::1]', '[fe80::1]'];
const OTHERS = ['169.254.169.254', '[fd00:ec2::254]', '224.0.0.1', '[ff02::1]', '255.255.255.255'];
const OWN = Object.values(networkInterfaces())
  .flatMap((each = []) => each)
  .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address));
/** Host names, and the addresses to which this test's DNS server resolves them. */
const NAMED = new Map([
  ['inward.example', ['127.0.0.1']],
  ['mixed.example', ['203.0.114.1', '127.0.0.1']],
  ['metadata.example', ['169.254.169.254']],
  ['tangled.example', ['127.0.0.1', '10.0.0.1']],
]);

const { port, connections } = await startCanaryServer();
await startDnsServer((name) => NAMED.get(name));

/** Inserts each address into the database, including those that the form would reject. */
async function tell(server: Awaited<ReturnType<typeof startTestServer>>, urls: string[]): Promise<void> {
  const [db, keys] = [server.storage().durable, createKeyring(server.settings.secretKeys)];
  for (const url of urls) {
    const app = await server.addApp({ ownerBusinessId: server.acme.id });
    const accepted = { appId: app.id, url: 'https://app.example/hook', eventTypes: ['grant.created'] };
    const { endpoint } = await insertEndpoint(db, keys, accepted, server.clock());
    await db.updateTable('endpoints').set({ url }).where('id', '=', endpoint.id).execute();
    const event = { type: 'grant.created', appId: app.id, businessId: server.acme.id, data: {} } as const;
    await recordEvent(db, event, server.clock());
  }
}

async function outcomes(server: Awaited<ReturnType<typeof startTestServer>>, count: number) {
  for (;;) {
    const made = await server
      .storage()
      .durable.selectFrom('attempts')
      .innerJoin('deliveries', 'deliveries.id', 'attempts.delivery_id')
      .innerJoin('endpoints', 'endpoints.id', 'deliveries.endpoint_id')
      .select(['endpoints.url', 'attempts.outcome'])
      .execute();
    if (made.length >= count) return made;
    await setTimeout(20);
  }
}

test('no form of an address makes the server connect to its own network [W4][W5]', async () => {
  const server = await startTestServer();
  const hosts = [...LOOPBACK, ...MAPPED, ...LOCAL, ...OTHERS, ...OWN, ...NAMED.keys()];
  const urls = hosts.flatMap((host) => [`http://${host}:${port}/hook`, `https://${host}:${port}/hook`]);

  await tell(server, urls);
  const made = await outcomes(server, urls.length);

  assert.deepEqual(
    made.filter(({ outcome }) => outcome !== 'address_refused'),
    [],
  );
  assert.deepEqual(made.map(({ url }) => url).toSorted(), urls.toSorted());
  assert.equal(connections(), 0);
});

test('with the setting for development, loopback is reached and the rest of the network is not [W4]', async () => {
  const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes' });
  const near = ['127.0.0.1', '2130706433', 'localhost', 'inward.example'].map((host) => `http://${host}:${port}/hook`);
  const far = [...LOCAL, ...OTHERS, 'tangled.example', 'metadata.example'].map((host) => `http://${host}:${port}/hook`);

  await tell(server, [...near, ...far]);
  const made = await outcomes(server, near.length + far.length);

  const of = (name: string) => made.filter(({ outcome }) => outcome === name).map(({ url }) => url);
  assert.deepEqual(of('delivered').toSorted(), near.toSorted());
  assert.deepEqual(of('address_refused').toSorted(), far.toSorted());
  // On a busy machine Node tries both addresses of `localhost`.
  assert.ok(connections() >= near.length);
});
