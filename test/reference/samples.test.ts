import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { createRecord } from '../../src/business/records.ts';
import { writableExample } from '../../src/business/resource-schemas.ts';
import { findResource, RESOURCES } from '../../src/resources/all.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { listOperations } from '../../src/web/reference/document.ts';
import { connectBusiness } from '../support/business-api.ts';
import { REDIRECT_URI } from '../support/fixtures.ts';
import { connectTo } from '../support/mcp.ts';
import { redirectParams } from '../support/raw-http.ts';
import { startTestServer } from '../support/test-server.ts';
import { samplesOf } from './curl.ts';
import { fetchDocument } from './document.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const api = await connectBusiness(server, 'Harbour');
const document = await fetchDocument(server.api);
/** The authorize endpoint is for browsers. */
const operations = listOperations(document).filter(({ operationId }) => operationId !== 'authorize');
const samples = operations.flatMap((operation) => samplesOf(document, operation));

/** The values that a reader fills in: their own app, and its tokens. */
async function fillIn(sample: string): Promise<string> {
  const [, verifier = ''] = /"code_verifier": "([^"]+)"/.exec(sample) ?? [];
  const code_challenge = createHash('sha256').update(verifier).digest('base64url');
  const code = await server.allow({ code_challenge, code_challenge_method: 'S256' }, browser);
  const { access_token, refresh_token } = await server.connect({}, browser);
  return (await fillInRecords(sample))
    .replace(/"client_id": "[^"]+"|client_id=[^&']+/, (found) => found.replace(/[0-9a-f-]{36}/, server.ledger.id))
    .replace('gcs_…', server.ledger.secret)
    .replace('gac_…', code)
    .replace('gat_…', access_token)
    .replace('grt_…', refresh_token)
    .replace('$CLIENT_ID:$CLIENT_SECRET', `${server.ledger.id}:${server.ledger.secret}`)
    .replace('$ACCESS_TOKEN', await tokenFor(readSample(sample).path))
    .replace('$BUSINESS_ID', api.business.id)
    .replace('$(uuidgen)', randomUUID())
    .replace('https://app.example/callback', REDIRECT_URI);
}

/** A token works only at its own resource. */
async function tokenFor(path: string): Promise<string> {
  if (!path.startsWith('/mcp')) return api.token;
  const resource = path.replace('$BUSINESS_ID', api.business.id);
  return connectTo(server, resource, { user: api.user, business: api.business });
}

/** The transition that has to come before another one. */
const BEFORE: Record<string, string> = { pay: 'send', restore: 'archive', reopen: 'win' };

/** Ids of records, in the path and in the body. */
async function fillInRecords(sample: string): Promise<string> {
  const { path } = readSample(sample);
  const resource = RESOURCES.find((each) => path === each.path || path.startsWith(`${each.path}/`));
  if (!resource) return sample;
  let filled = sample;
  for (const [name, id] of Object.entries(await addReferenced(resource))) {
    filled = filled.replace(new RegExp(`("${name}": ")[^"]+`), `$1${id}`);
  }
  if (!sample.includes('$ID')) return filled;
  const id = await addRecord(resource);
  const before = BEFORE[path.split('/').at(-1) ?? ''];
  if (before) assert.equal((await api.send('POST', `${resource.path}/${id}/${before}`)).status, 200);
  return filled.replace('$ID', id);
}

/** The body of the example, with a unique number or name. */
async function addRecord(resource: Resource): Promise<string> {
  const { unique } = resource;
  const named = unique ? { [unique]: randomUUID() } : {};
  const input = { ...writableExample(resource), ...named, ...(await addReferenced(resource)) };
  const businessId = api.business.id;
  const { values } = await createRecord(server.storage().durable, resource, { businessId, input }, server.clock());
  return String(values.id);
}

async function addReferenced({ fields }: Resource): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  for (const [name, { references }] of Object.entries(fields)) {
    if (references) ids[name] = await addRecord(findResource(references));
  }
  return ids;
}

function readSample(sample: string) {
  const [, method = 'GET'] = / -X (\w+)/.exec(sample) ?? [];
  const [, url = ''] = /["'](https?:[^"']+)["']/.exec(sample) ?? [];
  return { method, url, path: new URL(url).pathname };
}

/** The subset of curl that the samples use. */
function run(sample: string): Promise<Response> {
  const { method, url } = readSample(sample);
  const [, body] = / -d '([^']+)'/.exec(sample) ?? [];
  const headers = [...sample.matchAll(/ -H ['"]([^:]+): ([^'"]+)['"]/g)].map(([, name = '', value = '']) => [
    name,
    value,
  ]);
  const [, user] = / -u "([^"]+)"/.exec(sample) ?? [];
  const basic = user && { authorization: `Basic ${Buffer.from(user).toString('base64')}` };
  return fetch(url, { method, headers: { ...Object.fromEntries(headers), ...basic }, body, redirect: 'manual' });
}

test('the document has an example of every body, and of both grant types', () => {
  const shown = samples.map(nameOf);

  for (const { method, path, requestBody } of operations) {
    const ofOperation = samples.filter(
      (sample) => nameOf(sample).split(' ').slice(0, 2).join(' ') === `${method} ${path}`,
    );
    assert.ok(ofOperation.length > 0, path);
    if (requestBody)
      assert.ok(
        ofOperation.every((sample) => / -d '/.test(sample)),
        path,
      );
  }
  for (const grant of ['authorization_code', 'refresh_token']) assert.ok(shown.some((name) => name.endsWith(grant)));
});

for (const sample of samples) {
  test(`a request with the examples of the document works: ${nameOf(sample)}`, async () => {
    const filled = await fillIn(sample);

    const response = await run(filled);

    assert.ok(response.status < 400, `${response.status} ${await response.text()}`);
    if (response.status === 303) {
      assert.equal(redirectParams(response.headers.get('location')).error_description, undefined);
    }
    assert.doesNotMatch(filled, /…(?!')|\$[A-Z(]/, 'nothing is left to fill in');
  });
}

function nameOf(sample: string): string {
  const { method, path } = readSample(sample);
  const [, grant = ''] = /"grant_type": "(\w+)"/.exec(sample) ?? [];
  return `${method} ${path.replace('$ID', '{id}').replace('$BUSINESS_ID', '{businessId}')} ${grant}`.trim();
}
