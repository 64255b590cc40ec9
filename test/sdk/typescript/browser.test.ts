import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { launchChromium } from '../../support/chromium.ts';
import { startTestServer } from '../../support/test-server.ts';
import { buildLibrary } from './build.ts';
import { connect } from './connected.ts';

const library = await buildLibrary();
const chromium = await launchChromium();
const server = await startTestServer();
for (let i = 1; i <= 5; i += 1) {
  server.advanceClock(1);
  await server.addInvoice(server.acme, { number: `INV-${i}` });
}
const site = await serveSite();
const { accessToken } = await connect(server);

/** A site of another origin, which serves the built library. */
async function serveSite(): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === '/')
      return response.setHeader('content-type', 'text/html').end('<!doctype html><title>App</title>');
    if (!/^\/[\w-]+\.js$/.test(request.url ?? '')) return response.writeHead(404).end();
    return response.setHeader('content-type', 'text/javascript').end(readFileSync(join(library, request.url ?? '')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`;
}

async function openSite() {
  const { page } = await chromium.newPage();
  await page.goto(site);
  return page;
}

const facts = { baseUrl: server.api, accessToken, library: '/index.js' };

test('a page of another origin lists invoices with an access token, page after page', async () => {
  const page = await openSite();

  const seen = await page.evaluate(async ({ baseUrl, accessToken, library }) => {
    const { createApi }: typeof import('../../../sdk/typescript/src/index.ts') = await import(library);
    const api = createApi({ baseUrl, accessToken });
    const [business] = await api.businesses();
    const numbers: string[] = [];
    for await (const { number } of api.invoices(business?.id ?? '', { pageSize: 2 })) numbers.push(number);
    return { business, numbers };
  }, facts);

  assert.deepEqual(seen, {
    business: { id: server.acme.id, name: 'Acme' },
    numbers: ['INV-5', 'INV-4', 'INV-3', 'INV-2', 'INV-1'],
  });
});

test('a page of another origin can read why a request was rejected', async () => {
  const page = await openSite();

  const rejected = await page.evaluate(async ({ baseUrl, library }) => {
    const { createApi, GatehouseError }: typeof import('../../../sdk/typescript/src/index.ts') = await import(library);
    const error = await createApi({ baseUrl, accessToken: 'gat_none' })
      .businesses()
      .catch((reason) => reason);
    if (!(error instanceof GatehouseError)) return String(error);
    return { status: error.status, code: error.code, hasRequestId: error.requestId !== undefined };
  }, facts);

  assert.deepEqual(rejected, { status: 401, code: 'invalid_token', hasRequestId: true });
});

test('a page can begin an authorization, since PKCE needs only browser APIs', async () => {
  const page = await openSite();

  const begun = await page.evaluate(async ({ baseUrl, library }) => {
    const { createApp }: typeof import('../../../sdk/typescript/src/index.ts') = await import(library);
    const app = createApp({ baseUrl, clientId: 'app-1', clientSecret: 'none', redirectUri: location.href });
    return app.beginAuthorization({ scopes: ['read:invoices'] });
  }, facts);

  assert.match(new URL(begun.url).searchParams.get('code_challenge') ?? '', /^[\w-]{43}$/);
});
