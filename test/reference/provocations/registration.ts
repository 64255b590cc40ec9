import type { TestServer } from '../../support/test-server.ts';
import { type Provocation, provocationsOf, send } from './provocation.ts';

const CLIENT = { client_name: 'Assistant', redirect_uris: ['http://127.0.0.1/callback'] };

/** For a server started with DYNAMIC_REGISTRATION=on. */
export function registrationProvocations(server: TestServer): Provocation[] {
  const raw = (body: string, type = 'application/json') => sendRegistration(server, body, type);
  const register = (changes: object) => raw(JSON.stringify({ ...CLIENT, ...changes }));
  return provocationsOf('register', [
    [201, 'none', 'a request that is right', () => register({})],
    [400, 'redirect_uri_invalid', 'no redirect URIs', () => register({ redirect_uris: [] })],
    [400, 'client_metadata_invalid', 'another grant type', () => register({ grant_types: ['implicit'] })],
    [400, 'field_repeated', 'a field that comes twice', () => raw('{"client_name":"a","client_name":"b"}')],
    [400, 'body_malformed', 'JSON that ends too early', () => raw('{')],
    [413, 'body_too_large', 'a body of over 64 KiB', () => register({ client_name: 'x'.repeat(65_536) })],
    [415, 'content_type_unsupported', 'plain text', () => raw('x', 'text/plain')],
  ]);
}

/** For a server that allows one registration. */
export function registrationLimitProvocations(server: TestServer): Provocation[] {
  const register = () => sendRegistration(server, JSON.stringify(CLIENT), 'application/json');
  const twice = async () => {
    await register();
    return register();
  };
  return provocationsOf('register', [[429, 'too_many_requests', 'one registration too many', twice]]);
}

function sendRegistration({ api }: TestServer, body: string, type: string) {
  return send(`${api}/api/v1/oauth/register`, { method: 'POST', headers: { 'content-type': type }, body });
}
