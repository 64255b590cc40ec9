import assert from 'node:assert/strict';
import { test } from 'node:test';
import { businessPath } from '../../src/web/business-address.ts';
import { startLoggedServer } from '../reference/logged-server.ts';

const server = await startLoggedServer();
const { acme, ledger } = server;
const idOf = (response: Response) => response.headers.get('x-request-id') ?? '';

test('successful probes are not logged, failed requests to their port are', async () => {
  const before = (await server.readLog()).length;
  for (const path of ['/healthz', '/readyz']) await (await fetch(server.api + path)).text();

  const lines = (await server.readLog()).slice(before).map((line) => JSON.parse(line));

  assert.deepEqual(
    lines.map(({ route, status }) => [route, status]),
    [['none', 404]],
  );
});

test('a log line names the app and the business of the request as soon as they are known, and nothing secret', async () => {
  const browser = await server.signedIn();
  const { access_token, refresh_token } = await server.connect({}, browser);

  const listed = await server.listInvoices(access_token);
  const refreshed = await server.refresh(refresh_token);
  const page = await browser.open(`${businessPath({ businessId: acme.id }, 'developer')}/${ledger.id}`);
  const unknown = await fetch(`${server.api}/api/v1/me`, { headers: { authorization: 'Bearer nonsense' } });
  const ids = [listed, refreshed, page].map(({ headers }) => headers.get('x-request-id') ?? '');
  const [ofList, ofRefresh, ofPage, ofUnknown] = (
    await Promise.all([...ids, idOf(unknown)].map((id) => server.linesAbout(id)))
  ).flat();

  assert.deepEqual([ofList?.app, ofList?.business], [ledger.id, acme.id]);
  assert.equal(ofRefresh?.app, ledger.id);
  assert.deepEqual([ofPage?.app, ofPage?.business], [ledger.id, acme.id]);
  assert.deepEqual([ofUnknown?.app, ofUnknown?.business], [undefined, undefined]);
});
