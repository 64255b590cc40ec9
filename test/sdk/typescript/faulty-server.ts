import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { createApi, createApp } from '../../../sdk/typescript/src/index.ts';

/** A response of a server that is faulty, or not Gatehouse. */
export type FaultyResponse = (response: ServerResponse) => unknown;

export const BUSINESS = '0190a4c2-0000-7000-8000-000000000001';

/** A faulty Gatehouse: sends each response once, and the last one to all further requests. */
export async function startFaultyServer(...misbehaviours: FaultyResponse[]) {
  const requests: { path: string; headers: Record<string, unknown>; body: Record<string, string> }[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const misbehave = misbehaviours[Math.min(requests.length, misbehaviours.length - 1)];
    requests.push({ path: request.url ?? '', headers: request.headers, body: body ? JSON.parse(body) : {} });
    misbehave?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  const registration = {
    clientId: 'app-1',
    clientSecret: 'gcs_secret',
    redirectUri: 'https://ledger.example/callback',
  };
  return {
    url,
    requests,
    api: (changes = {}) => createApi({ baseUrl: url, accessToken: 'gat_1', ...changes }),
    app: (changes = {}) => createApp({ baseUrl: url, ...registration, ...changes }),
    /** Exchanges a code, which gets the faulty response. */
    async exchange(changes = {}) {
      const app = createApp({ baseUrl: url, ...registration, ...changes });
      const { state, codeVerifier } = await app.beginAuthorization({ scopes: ['read:invoices'] });
      const callback = new URLSearchParams({ code: 'gac_1', state, iss: url });
      return app.finishAuthorization(`?${callback}`, { state, codeVerifier });
    },
  };
}

type Headers = Record<string, string>;

export const send =
  (status: number, body: unknown, headers: Headers = {}): FaultyResponse =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

export const sendPage =
  (status: number, page: string, headers: Headers = {}): FaultyResponse =>
  (response) =>
    response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(page);

export const fail = (status: number, headers: Headers = { 'retry-after': '0' }) =>
  send(status, { error: 'temporarily_unavailable', error_description: 'Try again.' }, headers);

export const hangUp: FaultyResponse = (response) => response.destroy();
export const neverRespond: FaultyResponse = () => {};

export const sendBusinesses = send(200, [{ id: BUSINESS, name: 'Acme' }]);

export const sendTokens = send(200, {
  access_token: 'gat_2',
  token_type: 'bearer',
  expires_in: 3600,
  refresh_token: 'grt_2',
  scope: 'read:invoices',
});
