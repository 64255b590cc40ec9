import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { addSecret, listSecrets, removeSecret } from '../../src/apps/secrets.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { setInvoiceStatus } from '../../src/business/invoices.ts';
import { changeRecord, insertRecord } from '../../src/business/records.ts';
import { EVENT_TYPES } from '../../src/events/event-types.ts';
import { warnOfExpiring } from '../../src/grants/expiry.ts';
import { removeMember } from '../../src/grants/member-changes.ts';
import { narrowConnection } from '../../src/grants/narrowing.ts';
import { DAY, MINUTE } from '../../src/lib/clock.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { RESOURCES } from '../../src/resources/all.ts';
import type { Document } from '../../src/web/reference/document.ts';
import { sendTest } from '../../src/webhooks/deliveries.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import { redirectParams } from '../support/raw-http.ts';
import { SCOPES } from '../support/scopes.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import { type Received, startWebhookReceiver } from '../support/webhook-receiver.ts';
import { fetchDocument } from './document.ts';

const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes' });
const document = await fetchDocument(server.api);

test('the document has a webhook for every event type and no other, each with its payload and an example', () => {
  assert.deepEqual(Object.keys(document.webhooks).sort(), EVENT_TYPES.toSorted());
  for (const [type, { post }] of Object.entries(document.webhooks)) {
    const media = post.requestBody?.content['application/json'];
    assert.deepEqual(media?.schema.properties?.type?.enum, [type]);
    assert.equal((media?.example as { type: string } | undefined)?.type, type);
    assert.ok(post.responses['2XX'], type);
  }
});

test('every webhook that is sent has the documented headers and payload, and no other field', async () => {
  const received = await receiveAll(server);
  const validate = newValidator(document);

  assert.deepEqual([...new Set(received.map(({ event }) => event.type))].sort(), EVENT_TYPES.toSorted());
  for (const { event, headers } of received) {
    assert.equal(validate(event.type, event), undefined, JSON.stringify(event));
    for (const { name, required } of document.webhooks[event.type]?.post.parameters ?? []) {
      assert.ok(required && headers[name], name);
    }
  }
});

/** The problems of a payload. A field that is not documented is an error. */
function newValidator({ webhooks }: Document) {
  const ajv = new Ajv2020({ strict: false });
  ajv.addFormat('uuid', /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  return (type: string, payload: unknown): string | undefined => {
    const schema = webhooks[type]?.post.requestBody?.content['application/json']?.schema;
    const closed = JSON.parse(JSON.stringify(schema), (_, value) =>
      value?.properties ? { ...value, additionalProperties: false } : value,
    );
    return ajv.validate(closed, payload) ? undefined : ajv.errorsText();
  };
}

/** Creates and changes a record of each resource, into each state that has an event. */
async function changeEveryResource(storage: TestServer['storage'], businessId: string, now: number): Promise<void> {
  await storage().transaction(async (db) => {
    for (const resource of RESOURCES) {
      const references = Object.values(resource.fields).map((field) => field.references);
      const example = Object.entries(resource.example).filter(
        ([name], index) => !references[index] && name !== resource.state?.field,
      );
      const values = {
        ...Object.fromEntries(example),
        ...(resource.name === 'invoice' && { customerId: 'contact-1' }),
      };
      const record = await insertRecord(db, resource, { businessId, values }, now);
      const id = String(record?.values.id);
      const statuses = Object.keys(resource.state?.events ?? {});
      const [[text = '', value] = []] = example;
      const changes = [
        { [text]: `${value} 2` },
        ...statuses.map((status) => ({ [resource.state?.field ?? '']: status })),
      ];
      for (const change of changes) {
        await changeRecord(db, resource, { businessId, id }, { ifVersion: undefined, change: () => change }, now);
      }
    }
  });
}

/** One event of each type, or more, as an endpoint receives them. */
async function receiveAll({ storage, clock, ...rest }: TestServer): Promise<Received[]> {
  const app = await rest.addApp({ ownerBusinessId: rest.acme.id, scopes: SCOPES });
  const credentials = { client_id: app.id, client_secret: app.secret };
  const receiver = await startWebhookReceiver();
  const subscription = {
    appId: app.id,
    url: receiver.url,
    eventTypes: EVENT_TYPES.filter((type) => type !== 'endpoint.test'),
  };
  const keys = createKeyring(rest.settings.secretKeys);
  const { endpoint } = await insertEndpoint(storage().durable, keys, subscription, clock());

  const connect = async () =>
    (await rest.exchange(await rest.allow({ client_id: app.id, scope: SCOPES.join(' ') }), credentials)).body;
  await connect();
  await rest.revoke((await connect()).refresh_token);
  const { id: userId, ...ann } = await rest.addUser('Ann', [[rest.acme, 'admin']]);
  const browser = await rest.signedIn({ id: userId, ...ann });
  const screen = await browser.open(rest.authorizeUrl({ client_id: app.id }));
  const { leftTo } = await browser.submit(screen, '/consent', { decision: 'allow', connected_for: 'business' });
  // A grant is not transferred before its code is exchanged, nor right afterwards: it would end instead.
  await rest.exchange(redirectParams(leftTo?.href).code ?? '', credentials);
  rest.advanceClock(10 * MINUTE);
  await removeMember(OPERATOR, storage().durable, { userId, businessId: rest.acme.id }, clock());
  const narrowing = { app, businessId: rest.acme.id, user: rest.ada, withdrawn: ['write:deals'] };
  await narrowConnection(OPERATOR, storage().durable, narrowing, clock());
  const { number } = await rest.addInvoice(rest.acme, { number: 'INV-7' });
  await changeEveryResource(storage, rest.acme.id, clock());
  await storage().transaction(async (db) => {
    await setInvoiceStatus(db, { businessId: rest.acme.id, number, status: 'PAID' }, clock());
    await addSecret(OPERATOR, db, app, clock());
    const [oldest] = await listSecrets(db, app.id);
    await removeSecret(OPERATOR, db, { app, secretId: oldest?.id ?? '' }, clock());
    await sendTest(db, endpoint, clock());
  });
  // Three created grants; a revoked, a transferred and a narrowed one; three of the invoice, two of secrets, and the test; each change of a state has two.
  const ofRecords = RESOURCES.map(({ state }) => 2 + 2 * Object.keys(state?.events ?? {}).length);
  const before = ofRecords.reduce((sum, count) => sum + count, 12);
  await receiver.waitFor(before);
  rest.advanceClock(28 * DAY);
  await storage().transaction((db) => warnOfExpiring(db, 100, clock()));
  // The two active grants.
  return receiver.waitFor(before + 2);
}
