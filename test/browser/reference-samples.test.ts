import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createRecord } from '../../src/business/records.ts';
import { writableExample } from '../../src/business/resource-schemas.ts';
import { findResource, RESOURCES } from '../../src/resources/all.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { listOperations, type RouteOperation } from '../../src/web/reference/document.ts';
import { fetchDocument } from '../reference/document.ts';
import { connectBusiness } from '../support/business-api.ts';
import { launchChromium } from '../support/chromium.ts';
import { REDIRECT_URI } from '../support/fixtures.ts';
import { connectTo } from '../support/mcp.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
const browser = await server.signedIn();
const api = await connectBusiness(server, 'Harbour');
const operations = listOperations(await fetchDocument(server.api));
const { page } = await (await launchChromium()).newPage();

/** What the page shows below "Shell Curl", for each example of the body. */
async function readSamples({ tags: [tag = ''] = [], operationId }: RouteOperation): Promise<string[]> {
  const anchor = `tag/${tag.toLowerCase().replaceAll(' ', '-')}/${operationId}`;
  await page.goto(`${server.api}/docs#${anchor}`);
  const card = page.locator(`section[id$="/${anchor}"] .request-card`);
  const sample = card.locator('pre');
  const samples = [await sample.innerText()];
  const picker = card.getByTestId('example-picker');
  if ((await picker.count()) === 0) return samples;
  await picker.click();
  await page.getByRole('option').last().click();
  await sample.filter({ hasNotText: samples[0]?.trim() ?? '' }).waitFor();
  return [...samples, await sample.innerText()];
}

/** The ids that the page shows: of the app, a business and a record. */
const SHOWN_APP = '0190b9a1-7d4c-7c5e-9a51-3c2f6f0e8d10';
const SHOWN_BUSINESS = '0190b9a1-5e1a-7b22-9c33-1a2b3c4d5e6f';
const SHOWN_ID = '123e4567-e89b-12d3-a456-426614174000';

/** The values that a reader fills in, and nothing else: their own app, its tokens, and ids. */
async function fillIn(sample: string): Promise<string> {
  const { path } = readSample(sample);
  const [, verifier = ''] = /"code_verifier": "([^"]+)"/.exec(sample) ?? [];
  const code_challenge = createHash('sha256').update(verifier).digest('base64url');
  const code = await server.allow({ code_challenge, code_challenge_method: 'S256' }, browser);
  const { access_token, refresh_token } = await server.connect({}, browser);
  const credentials = Buffer.from(`${server.ledger.id}:${server.ledger.secret}`).toString('base64');
  return (await fillInRecords(sample))
    .replace(SHOWN_APP, server.ledger.id)
    .replace('gcs_…', server.ledger.secret)
    .replace('gac_…', code)
    .replace('gat_…', access_token)
    .replace('grt_…', refresh_token)
    .replace('username:password', credentials)
    .replace('YOUR_SECRET_TOKEN', await tokenFor(path))
    .replace(SHOWN_BUSINESS, api.business.id)
    .replace(SHOWN_ID, api.business.id)
    .replace(/https(:|%3A)(\/|%2F){2}app\.example(\/|%2F)callback/, (shown) =>
      shown.includes('%') ? encodeURIComponent(REDIRECT_URI) : REDIRECT_URI,
    );
}

/** A token works only at its own resource. */
async function tokenFor(path: string): Promise<string> {
  if (!path.startsWith('/mcp')) return api.token;
  const resource = path.replace(SHOWN_ID, api.business.id);
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
  if (!path.includes(SHOWN_ID)) return filled;
  const id = await addRecord(resource);
  const before = BEFORE[path.split('/').at(-1) ?? ''];
  if (before) assert.equal((await api.send('POST', `${resource.path}/${id}/${before}`)).status, 200);
  return filled.replace(SHOWN_ID, id);
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
  const [, method = 'GET'] = / --request (\w+)/.exec(sample) ?? [];
  const [url = ''] = /https?:[^'\s]+/.exec(sample) ?? [];
  return { method, path: new URL(url).pathname };
}

/** After the body: the status, and the address of a redirect. */
const REPORT = "-sS -w '\\n%{http_code} %{redirect_url}'";

for (const operation of operations) {
  test(`the samples of the reference work as they stand: ${operation.method} ${operation.path}`, async () => {
    for (const sample of await readSamples(operation)) {
      const filled = await fillIn(sample);

      const { stdout } = await promisify(execFile)('bash', ['-c', `${filled.trim()} ${REPORT}`]);

      assert.match(stdout, /\n[23]\d\d [^\n]*$/, `${filled}\n${stdout}`);
      assert.doesNotMatch(stdout, /[?&]error=[^\n]*$/, filled);
    }
  });
}
