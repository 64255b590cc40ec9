import type { TestServer } from '../../support/test-server.ts';
import { type Provocation, provocationsOf, send } from './provocation.ts';

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

/** A required field of the endpoint, and the other fields of a request that passes all checks before authentication. */
const ENDPOINTS = [
  { name: 'token', field: 'grant_type', rest: { grant_type: 'refresh_token', refresh_token: 'x' } },
  { name: 'revoke', field: 'token', rest: { token: 'x' } },
  { name: 'introspect', field: 'token', rest: { token: 'x' } },
];

/** Errors that the three endpoints with a body share: those of the body, and of client authentication. */
export function bodyProvocations(server: TestServer): Provocation[] {
  return ENDPOINTS.flatMap((endpoint) => [...unreadable(server, endpoint), ...unauthenticated(server, endpoint)]);
}

type Endpoint = (typeof ENDPOINTS)[number];

function unreadable(server: TestServer, { name, field }: Endpoint): Provocation[] {
  const raw = (body: string, type = JSON_TYPE) =>
    send(`${server.api}/api/v1/oauth/${name}`, { method: 'POST', headers: { 'content-type': type }, body });
  return provocationsOf(name, [
    [400, 'field_missing', 'a body without the field it needs', () => server.post(name, server.credentials)],
    [400, 'field_missing', 'a field that is empty', () => server.post(name, { ...server.credentials, [field]: '' })],
    [400, 'field_repeated', 'a field that comes twice in JSON', () => raw(`{"${field}":"x","${field}":"y"}`)],
    [400, 'field_repeated', 'a field that comes twice in a form', () => raw(`${field}=x&${field}=y`, FORM_TYPE)],
    [400, 'field_not_text', 'a field that is a number', () => raw(JSON.stringify({ [field]: 1 }))],
    [400, 'field_not_text', 'a field that is a list', () => raw(JSON.stringify({ [field]: ['x', 'y'] }))],
    [400, 'body_malformed', 'a list in place of an object', () => raw('[]')],
    [400, 'body_malformed', 'JSON that ends too early', () => raw('{')],
    [400, 'body_malformed', 'an empty body of JSON', () => raw('')],
    [400, 'body_malformed', 'JSON with a name of JavaScript’s own', () => raw('{"__proto__":{"token":"x"}}')],
    [413, 'body_too_large', 'a body of over 64 KiB', () => raw(JSON.stringify({ [field]: 'x'.repeat(65_536) }))],
    [415, 'content_type_unsupported', 'plain text', () => raw('x', 'text/plain')],
  ]);
}

function unauthenticated(server: TestServer, { name, rest }: Endpoint): Provocation[] {
  const { client_id, client_secret } = server.credentials;
  const basic = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`;
  const send = (credentials: object, authorization?: string) =>
    server.post(name, { ...rest, ...credentials }, authorization === undefined ? {} : { authorization });
  const publicApp = async () => (await server.addApp({ ownerBusinessId: server.acme.id, isPublic: true })).id;
  return provocationsOf(name, [
    [400, 'credentials_sent_twice', 'credentials in body and header', () => send({ client_secret }, basic)],
    [401, 'credentials_missing', 'a secret without its client_id', () => send({ client_secret })],
    [401, 'credentials_malformed', 'a header that is not Basic', () => send({}, 'Bearer x')],
    [
      401,
      'app_is_public',
      'a public app with a secret',
      async () => send({ client_id: await publicApp(), client_secret }),
    ],
    [401, 'credentials_wrong', 'a wrong secret', () => send({ client_id, client_secret: 'gcs_wrong' })],
    [401, 'credentials_wrong', 'a wrong secret in the header', () => send({}, `Basic ${btoa(`${client_id}:wrong`)}`)],
  ]);
}
