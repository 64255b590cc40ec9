import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextPageLink } from '../../support/browser.ts';
import { addManyConnections } from '../../support/bulk-data.ts';
import { startTestServer } from '../../support/test-server.ts';

const PATH = '/settings/connected-apps';
const server = await startTestServer();
const ada = await server.signedIn();
const crowd = await server.addApp({ name: 'Crowd', ownerBusinessId: server.acme.id });
const setting = { businessId: server.acme.id, userId: server.ada.id, appId: crowd.id, half: 5000 };
/** Ten thousand connections that may do everything: one person's to many apps, and many people's to one app. */
const connections = await addManyConnections(server.storage(), setting, server.clock());

const PAGES: [what: string, address: string][] = [
  ['the first page', PATH],
  ['a page among many', `${PATH}?after=${connections[2500]?.appId}.${server.ada.id}`],
  ['a page of one app that many have connected', `${PATH}?after=${crowd.id}.${connections[2500]?.userId}`],
  ['a search for an app', `${PATH}?q=gadget+4999`],
  ['a search for a person', `${PATH}?q=person+4999`],
  ['a search without results', `${PATH}?q=nobody`],
];

for (const [what, address] of PAGES) {
  test(`with 10,000 connections ${what} is small`, async () => {
    const { text } = await ada.open(address);

    assert.ok(Buffer.byteLength(text) < 50_000, `${text.length} bytes`);
    if (address.includes('nobody')) assert.match(text, /No connection in Acme matches “nobody”\./);
    else assert.match(text, address.includes('4999') ? /(Gadget|Person) 4999/ : /Last used <time/);
  });
}

test('paging lists every person', async () => {
  const seen = new Set<string>();
  let address: string | undefined = `${PATH}?q=person+12`;
  while (address) {
    const { text } = await ada.open(address);
    for (const [, name = ''] of text.matchAll(/<strong>(Person \d+)<\/strong>/g)) {
      assert.ok(!seen.has(name), `${name} is shown once`);
      seen.add(name);
    }
    address = nextPageLink({ text });
  }

  assert.equal(seen.size, connections.filter(({ index }) => String(index).startsWith('12')).length);
});
