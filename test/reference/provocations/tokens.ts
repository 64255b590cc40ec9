import { deleteApp } from '../../../src/apps/apps.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { DAY, MINUTE } from '../../../src/lib/clock.ts';
import type { ApiResponse } from '../../support/client.ts';
import { retryUntilFound, runInSequence } from './concurrency.ts';
import { type Connected, type Connections, PKCE, VERIFIER } from './inactive-grants.ts';
import { type Provocation, provocationsOf } from './provocation.ts';

type InactiveGrants = Record<string, () => Promise<Connected>>;

/** Errors of the token endpoint after client authentication. */
export function tokenProvocations(connections: Connections, inactiveGrants: InactiveGrants): Provocation[] {
  return [
    ...provocationsOf('token', [...unfitting(connections), ...unproven(connections), ...verifiers(connections)]),
    ...ended(connections, inactiveGrants),
  ];
}

type Table = Parameters<typeof provocationsOf>[1];

function unfitting({ server, connect, allow }: Connections): Table {
  const redirect_uri = 'https://ledger.example/other';
  return [
    [
      400,
      'unsupported_grant_type',
      'a password grant',
      () => server.post('token', { grant_type: 'password', ...server.credentials }),
    ],
    [
      400,
      'scope_not_allowed',
      'a refresh that asks for more',
      async () => {
        const { tokens, credentials } = await connect();
        return server.refresh(tokens.refresh_token, { ...credentials, scope: 'read:invoices write:invoices' });
      },
    ],
    [
      400,
      'resource_different',
      'an exchange that names another resource',
      async () => server.exchange(await allow({}), { resource: `${server.api}/mcp` }),
    ],
    [
      400,
      'resource_unknown',
      'an exchange that names a resource of another server',
      async () => server.exchange(await allow({}), { resource: 'https://other.example/mcp' }),
    ],
    [
      400,
      'resource_repeated',
      'an exchange that names two resources',
      async () => server.exchange(await allow({}), { resource: [`${server.api}/mcp`, `${server.api}/api/v1`] }),
    ],
    [
      400,
      'redirect_uri_different',
      'an exchange that names another address',
      async () => server.exchange(await allow({}), { redirect_uri }),
    ],
  ];
}

function unproven({ server, connect, allow }: Connections): Table {
  return [
    [400, 'token_unknown', 'an unknown code', () => server.exchange(`gac_${'A'.repeat(96)}`)],
    [400, 'token_unknown', 'an unknown refresh token', () => server.refresh('x')],
    [
      400,
      'token_of_another_kind',
      'an access token in place of a refresh token',
      async () => server.refresh((await connect()).tokens.access_token),
    ],
    [
      400,
      'token_of_another_kind',
      'a refresh token in place of a code',
      async () => server.exchange((await connect()).tokens.refresh_token),
    ],
    [
      400,
      'token_of_another_app',
      'another app’s refresh token',
      async () => server.refresh((await connect()).tokens.refresh_token),
    ],
    [
      400,
      'token_of_another_app',
      'another app’s code',
      async () => server.exchange(await allow({}), (await connect()).credentials),
    ],
  ];
}

function verifiers({ server, allow }: Connections): Table {
  return [
    [400, 'code_verifier_missing', 'a challenge without its verifier', async () => server.exchange(await allow(PKCE))],
    [
      400,
      'code_verifier_wrong',
      'a verifier of another challenge',
      async () => server.exchange(await allow(PKCE), { code_verifier: `${VERIFIER}-not` }),
    ],
    [
      400,
      'code_verifier_unexpected',
      'a verifier without a challenge',
      async () => server.exchange(await allow({}), { code_verifier: VERIFIER }),
    ],
  ];
}

function ended(connections: Connections, inactiveGrants: InactiveGrants): Provocation[] {
  const { server } = connections;
  const refreshOf = async ({ tokens, credentials }: Connected) => server.refresh(tokens.refresh_token, credentials);
  return Object.entries(inactiveGrants).map(([reason, end]) => ({
    operation: 'token',
    status: 400,
    reason,
    to: 'a refresh of a grant that ended so',
    provoke: reason === 'app_deleted' ? () => refreshWhileDeleted(connections) : async () => refreshOf(await end()),
  }));
}

/**
 * A deleted app cannot even authenticate: it has to be deleted after that, while another refresh is the first to get
 * through, so that this one has to read the grant again.
 */
async function refreshWhileDeleted({ server, connect }: Connections): Promise<ApiResponse> {
  return retryUntilFound(async () => {
    const { app, tokens, credentials } = await connect();
    const [response] = await runInSequence<ApiResponse | undefined>(
      server,
      () => server.refresh(tokens.refresh_token, credentials),
      async () => {
        await server.storage().transaction(async (db) => {
          const refreshed = db.updateTable('grants').set(({ eb }) => ({ rotation: eb('rotation', '+', 1) }));
          await refreshed.where('app_id', '=', app.id).execute();
          await deleteApp(OPERATOR, db, app, server.clock());
        });
        return undefined;
      },
    );
    return response?.status === 400 ? response : undefined;
  });
}

/** Advances the clock, by a month in total. */
export function expiredTokenProvocations({ server, connect, allow }: Connections): Provocation[] {
  return provocationsOf('token', [
    [
      400,
      'code_expired',
      'a code after ten minutes',
      async () => {
        const code = await allow({});
        server.advanceClock(10 * MINUTE);
        return server.exchange(code);
      },
    ],
    [
      400,
      'refresh_token_expired',
      'a refresh token after thirty days',
      async () => {
        const { tokens, credentials } = await connect();
        server.advanceClock(30 * DAY + MINUTE);
        return server.refresh(tokens.refresh_token, credentials);
      },
    ],
  ]);
}
