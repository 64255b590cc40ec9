import { OPERATOR } from '../../../src/audit/entries.ts';
import { pauseApp, resumeApp } from '../../../src/grants/suspension.ts';
import type { ApiResponse } from '../../support/client.ts';
import type { TestServer } from '../../support/test-server.ts';
import { authorizeTwice, type Provocation, provocationsOf } from './provocation.ts';

/** Requests the events of an app, with its credentials or others. */
export function askEvents(
  server: TestServer,
  { query = '', secret = server.ledger.secret } = {},
): Promise<ApiResponse> {
  const authorization = `Basic ${Buffer.from(`${server.ledger.id}:${secret}`).toString('base64')}`;
  return server.get(`/api/v1/events${query}`, { authorization });
}

async function askPaused(server: TestServer): Promise<ApiResponse> {
  const db = server.storage().durable;
  await pauseApp(OPERATOR, db, { app: server.ledger }, server.clock());
  const response = await askEvents(server);
  await resumeApp(OPERATOR, db, server.ledger, server.clock());
  return response;
}

export function eventProvocations(server: TestServer): Provocation[] {
  return provocationsOf('listEvents', [
    [200, 'none', 'a request that is right', () => askEvents(server)],
    [400, 'value_not_allowed', 'a limit of nothing', () => askEvents(server, { query: '?limit=0' })],
    [400, 'value_not_allowed', 'a cursor that is none', () => askEvents(server, { query: '?cursor=x' })],
    [400, 'field_repeated', 'a limit that comes twice', () => askEvents(server, { query: '?limit=1&limit=1' })],
    [400, 'credentials_sent_twice', 'two headers', () => authorizeTwice(server.api, '/api/v1/events')],
    [401, 'credentials_missing', 'no credentials', () => server.get('/api/v1/events')],
    [401, 'credentials_malformed', 'a token', () => server.get('/api/v1/events', { authorization: 'Bearer x' })],
    [401, 'credentials_wrong', 'a wrong secret', () => askEvents(server, { secret: 'x' })],
    [401, 'app_is_public', 'a public app', () => askAsPublicApp(server)],
    [403, 'app_paused', 'a paused app', () => askPaused(server)],
  ]);
}

async function askAsPublicApp(server: TestServer): Promise<ApiResponse> {
  const { id } = await server.addApp({ ownerBusinessId: server.acme.id, isPublic: true });
  return server.get('/api/v1/events', { authorization: `Basic ${Buffer.from(`${id}:`).toString('base64')}` });
}
