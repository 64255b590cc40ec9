import { HOUR, SECOND } from '../../../src/lib/clock.ts';
import { once } from '../../support/once.ts';
import type { Connected, Connections } from './inactive-grants.ts';
import { authorizeTwice, type Provocation, provocationsOf } from './provocation.ts';

const CALLS = [
  { name: 'me', path: '/api/v1/me' },
  { name: 'listBusinesses', path: '/api/v1/businesses' },
  { name: 'listInvoices', path: '/api/v1/accounting/invoices' },
];

/** Errors of the business API. */
export function bearerProvocations(
  connections: Connections,
  inactiveGrants: Record<string, () => Promise<Connected>>,
): Provocation[] {
  const active = once(() => connections.connect());
  return [
    ...CALLS.flatMap((call) => unfitTokens(connections, call, active)),
    ...CALLS.flatMap((call) => endedTokens(connections, call, inactiveGrants)),
    ...revokedAlone(connections),
    ...invoiceProvocations(connections, active),
  ];
}

type Call = (typeof CALLS)[number];

function unfitTokens(
  { server, allow }: Connections,
  { name, path }: Call,
  active: () => Promise<Connected>,
): Provocation[] {
  const send = (authorization: string, query = '') => server.get(path + query, { authorization });
  const refresh = async () => `Bearer ${(await active()).tokens.refresh_token}`;
  const access = async () => `Bearer ${(await active()).tokens.access_token}`;
  const forMcp = async () =>
    `Bearer ${(await server.exchange(await allow({ resource: `${server.api}/mcp` }))).body.access_token}`;
  return provocationsOf(name, [
    [401, 'token_missing', 'a call without a token', () => server.get(path)],
    [401, 'token_missing', 'another way to authenticate', () => send('Basic eDp5')],
    [401, 'token_malformed', 'a header without a token', () => send('Bearer')],
    [401, 'token_malformed', 'a header with two tokens', () => send('Bearer one two')],
    [401, 'token_unknown', 'an unknown token', () => send(`Bearer gat_${'A'.repeat(96)}`)],
    [401, 'token_of_another_kind', 'a refresh token', async () => send(await refresh())],
    [401, 'token_for_other_resource', 'a token for the MCP server', async () => send(await forMcp())],
    [400, 'credentials_sent_twice', 'two tokens in two headers', () => authorizeTwice(server.api, path)],
    [400, 'token_in_address', 'a token in header and address', async () => send(await access(), '?access_token=x')],
  ]);
}

function endedTokens(
  { server }: Connections,
  { name, path }: Call,
  inactiveGrants: Record<string, () => Promise<Connected>>,
): Provocation[] {
  return Object.entries(inactiveGrants).map(([reason, end]) => ({
    operation: name,
    status: 401,
    reason,
    to: 'a token of a grant that ended so',
    provoke: async () => server.get(path, { authorization: `Bearer ${(await end()).tokens.access_token}` }),
  }));
}

/** An access token can end while its grant stays active. */
function revokedAlone({ server, connect }: Connections): Provocation[] {
  const revoked = once(async () => {
    const { tokens } = await connect();
    await server.revoke(tokens.access_token);
    return `Bearer ${tokens.access_token}`;
  });
  return CALLS.flatMap(({ name, path }) =>
    provocationsOf(name, [
      [
        401,
        'access_token_revoked',
        'a token that was revoked alone',
        async () => server.get(path, { authorization: await revoked() }),
      ],
    ]),
  );
}

function invoiceProvocations({ server, allow }: Connections, active: () => Promise<Connected>): Provocation[] {
  const list = async (headers: Record<string, string>, query = '') =>
    server.listInvoices((await active()).tokens.access_token, headers, query);
  const elsewhere = '0190a6c6-0000-7000-8000-000000000000';
  const contacts = async () => (await server.exchange(await allow({ scope: 'read:contacts' }))).body.access_token;
  return provocationsOf('listInvoices', [
    [400, 'business_id_malformed', 'a business id that is none', () => list({ 'x-business-id': 'acme' })],
    [400, 'value_not_allowed', 'an unknown status', () => list({}, '?status=LOST')],
    [400, 'value_not_allowed', 'a limit of nothing', () => list({}, '?limit=0')],
    [400, 'value_not_allowed', 'a cursor that is none', () => list({}, '?cursor=x')],
    [400, 'field_repeated', 'a limit that comes twice', () => list({}, '?limit=1&limit=1')],
    [403, 'business_mismatch', 'another business', () => list({ 'x-business-id': elsewhere })],
    [403, 'insufficient_scope', 'a token for contacts', async () => server.listInvoices(await contacts())],
  ]);
}

/** Advances the clock. */
export function expiredBearerProvocations({ server, connect }: Connections): Provocation[] {
  const expired = once(async () => {
    const { tokens } = await connect();
    server.advanceClock(HOUR + SECOND);
    return `Bearer ${tokens.access_token}`;
  });
  return CALLS.flatMap(({ name, path }) =>
    provocationsOf(name, [
      [
        401,
        'access_token_expired',
        'a token after an hour',
        async () => server.get(path, { authorization: await expired() }),
      ],
    ]),
  );
}
