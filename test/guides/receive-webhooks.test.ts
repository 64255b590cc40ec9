import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { EVENT_TYPES } from '../../src/events/event-types.ts';
import { resend } from '../../src/webhooks/deliveries.ts';
import { listDeliveries } from '../../src/webhooks/delivery-log.ts';
import { newSigningSecret, signMessage } from '../../src/webhooks/signatures.ts';
import { NO_PYTHON } from '../sdk/python/interpreter.ts';
import { createWorkspace, openGuide, type Program, ROOT } from '../support/guides.ts';
import { freePort } from '../support/ports.ts';
import { startTestServer } from '../support/test-server.ts';

const guide = openGuide('receive-webhooks');
// The receivers are separate processes with the real clock.
const server = await startTestServer({ WEBHOOKS_TO_LOOPBACK: 'yes' }, Date.now());
const workspace = createWorkspace();
const cafe = await server.addBusiness('Cafe');
const bob = await server.addUser('Bob', [[cafe, 'owner']]);
const browser = await server.signedIn(bob);
const db = () => server.storage().durable;

const blocks = {
  add: guide.take('Add an endpoint', 'sh'),
  test: guide.take('Try it', 'sh'),
  typescript: guide.take('In TypeScript', 'ts'),
  python: guide.take('In Python', 'python'),
};

/** The fields of each event in the guide's first table. */
const described = new Map(
  readFileSync(join(ROOT, 'docs/guides/receive-webhooks.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| `[a-z_]+\.[a-z_]+`/.test(line))
    .map((line) => line.split('|').map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)))
    .flatMap(([, types = [], , fields = []]) => types.map((type): [string, string[]] => [type, fields])),
);

before(async () => {
  const env = { GATEHOUSE: workspace.checkout };
  await workspace
    .bash('npm pack --silent "$GATEHOUSE/sdk/typescript" && npm install --silent ./*.tgz', { env })
    .waitForExit();
});

test('the guide names every event type', () => {
  assert.deepEqual([...described.keys()].sort(), EVENT_TYPES.toSorted());
});

test('the TypeScript receiver accepts each event from Gatehouse once, and nothing else', async () => {
  workspace.save('receiver.mts', blocks.typescript);
  await assertReceives([process.execPath, 'receiver.mts']);
});

test('the Python receiver does the same', { skip: NO_PYTHON }, async () => {
  workspace.save('receiver.py', blocks.python);
  await assertReceives(['python3', 'receiver.py']);
});

async function assertReceives(command: string[]): Promise<void> {
  const { app, url, port, endpoint, gatehouse } = await addEndpoint();
  // An endpoint receives only events after its creation, and the command line uses the real clock.
  server.advanceClock(Date.now() - server.clock());
  const secrets = [newSigningSecret(), endpoint.secret];
  const PYTHONPATH = join(workspace.checkout, 'sdk/python/src');
  const env = { PORT: port, WEBHOOK_SECRETS: secrets.join(' '), PYTHONPATH };
  const program = workspace.run(command, { env });
  await program.waitForOutput(/^Listening at/m);

  const code = await server.allow({ client_id: app.id }, browser);
  await program.waitForOutput(/ grant\.created .*\n/);
  const credentials = { client_id: app.id, client_secret: app.secret };
  const { refresh_token } = (await server.exchange(code, credentials)).body;
  await server.addInvoice(cafe, { number: `INV-${port}` });
  await program.waitForOutput(/ invoice\.created .*\n/);
  await gatehouse(blocks.test, { ENDPOINT: endpoint.id });
  await program.waitForOutput(/ endpoint\.test .*\n/);
  await sendFirstAgain(endpoint.id);
  await server.revoke(refresh_token);
  await program.waitForOutput(/ grant\.revoked .*\n/);

  const events = await eventsIn(program);
  const types = ['grant.created', 'invoice.created', 'endpoint.test', 'grant.revoked'];
  assert.deepEqual(
    events.map(({ type }) => type),
    types,
  );
  for (const { type, data } of events) assertDescribed(type, data);
  const first = (await listDeliveries(db(), { endpointId: endpoint.id, limit: 10 })).at(-1);
  assert.deepEqual(
    first?.attemptsMade.map(({ status }) => status),
    [204, 204],
  );
  await assertRefuses(url, secrets);
  program.stop();
}

/** Adds the endpoint on the command line, as in the guide. */
async function addEndpoint() {
  const app = await server.addApp({ ownerBusinessId: cafe.id });
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}/hook`;
  const { databaseUrl, secretKeys, baseUrl, consentUrl } = server.settings;
  const settings = {
    DATABASE_URL: databaseUrl,
    SECRET_KEYS: secretKeys.join(','),
    BASE_URL: baseUrl,
    CONSENT_URL: consentUrl,
    WEBHOOKS_TO_LOOPBACK: 'yes',
  };
  const gatehouse = async (script: string, more: Record<string, string> = {}) => {
    const env = { ...settings, CLIENT_ID: app.id, URL: url, ...more };
    return JSON.parse(await workspace.bash(script, { cwd: workspace.checkout, env }).waitForExit());
  };
  return { app, url, port, gatehouse, endpoint: await gatehouse(blocks.add) };
}

async function sendFirstAgain(endpointId: string): Promise<void> {
  const first = (await listDeliveries(db(), { endpointId, limit: 10 })).at(-1);
  assert.ok(first);
  assert.ok(await resend(db(), endpointId, first.id, server.clock()));
}

async function eventsIn(program: Program) {
  const lines = (await program.waitForOutput(/.*/s)).matchAll(/^([\da-f-]{36}) (\S+) (\{.*\})$/gm);
  return [...lines].map(([, id = '', type = '', data = '']) => ({ id, type, data: JSON.parse(data) }));
}

function assertDescribed(type: string, { businessId, ...data }: Record<string, unknown>): void {
  assert.deepEqual(Object.keys(data), described.get(type), type);
  assert.equal(businessId, type === 'endpoint.test' ? undefined : cafe.id);
}

async function assertRefuses(url: string, [secret = '']: string[]): Promise<void> {
  const body = JSON.stringify({ type: 'invoice.paid', timestamp: new Date().toISOString(), data: {} });
  const post = async (headers: Record<string, string>, sent = body, to = url) =>
    (await fetch(to, { method: 'POST', headers, body: sent })).status;
  const signed = (by: string, at: number) => signMessage({ id: 'msg_1', body }, [by], at);

  assert.equal(await post({}), 400);
  assert.equal(await post(signed(newSigningSecret(), Date.now())), 400);
  assert.equal(await post(signed(secret, Date.now() - 3_600_000)), 400);
  assert.equal(await post(signed(secret, Date.now()), `${body} `), 400);
  assert.equal(await post(signed(secret, Date.now()), body, `${url}/else`), 404);
  assert.equal(await post(signed(secret, Date.now())), 204);
}
