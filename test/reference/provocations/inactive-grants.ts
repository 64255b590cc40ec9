import { createHash } from 'node:crypto';
import { deleteMembership } from '../../../src/accounts/memberships.ts';
import { markUserDisabled } from '../../../src/accounts/users.ts';
import { changeApp } from '../../../src/apps/app-changes.ts';
import { deleteApp } from '../../../src/apps/apps.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { resetAccount } from '../../../src/grants/account-reset.ts';
import { blockApp } from '../../../src/grants/app-approvals.ts';
import { endTokensOfApp } from '../../../src/grants/app-tokens.ts';
import { limitGrants } from '../../../src/grants/connection-grants.ts';
import { MAX_GRANTS } from '../../../src/grants/connection-limit.ts';
import { endConnection, endForEveryone } from '../../../src/grants/connections.ts';
import { makeRoom } from '../../../src/grants/full-connections.ts';
import { revokeGrant } from '../../../src/grants/revocation.ts';
import { disableApp, pauseApp } from '../../../src/grants/suspension.ts';
import { endConnectionsOfUser } from '../../../src/grants/user-connections.ts';
import { DAY, MINUTE } from '../../../src/lib/clock.ts';
import type { Browser } from '../../support/browser.ts';
import type { Tokens } from '../../support/client.ts';
import type { RegisteredApp } from '../../support/fixtures.ts';
import { addExchangedGrants } from '../../support/new-grants.ts';
import { once } from '../../support/once.ts';
import type { TestServer } from '../../support/test-server.ts';
import { retryUntilFound, runInSequence } from './concurrency.ts';

export interface Connected {
  app: RegisteredApp;
  credentials: { client_id: string; client_secret: string };
  code: string;
  tokens: Tokens;
}

export const VERIFIER = 'a-verifier-that-is-long-enough-for-any-server';
const code_challenge = createHash('sha256').update(VERIFIER).digest('base64url');
export const PKCE = { code_challenge, code_challenge_method: 'S256' };

export type Connections = ReturnType<typeof createConnections>;

/** Creates grants, each with its own app, so that ending one does not affect others. */
export function createConnections(server: TestServer) {
  const ada = once(() => server.signedIn());

  async function newApp(changes: Parameters<TestServer['addApp']>[0] = {}) {
    const app = await server.addApp({ ownerBusinessId: server.acme.id, ...changes });
    return { app, credentials: { client_id: app.id, client_secret: app.secret } };
  }

  async function connect(changes: Parameters<TestServer['addApp']>[0] = {}, browser?: Browser): Promise<Connected> {
    const { app, credentials } = await newApp(changes);
    const code = await server.allow({ client_id: app.id }, browser ?? (await ada()));
    const { body: tokens } = await server.exchange(code, credentials);
    return { app, credentials, code, tokens };
  }

  const allow = async (query: Record<string, string>) => server.allow(query, await ada());
  return { server, newApp, connect, allow };
}

/** One way to end a grant for each reason; each returns the ended grant. */
export function createInactiveGrants(connections: Connections): Record<string, () => Promise<Connected>> {
  const ends = { ...endedByApp(connections), ...endedByPeople(connections) };
  return Object.fromEntries(Object.entries(ends).map(([reason, end]) => [reason, once(end)]));
}

function endedByApp(connections: Connections) {
  const { server, connect } = connections;
  return {
    async revoked_by_app() {
      const connected = await connect();
      await server.revoke(connected.tokens.refresh_token);
      return connected;
    },
    async code_reused() {
      const connected = await connect();
      await server.exchange(connected.code, connected.credentials);
      return connected;
    },
    async refresh_token_reused() {
      const connected = await connect();
      const refresh = () => server.refresh(connected.tokens.refresh_token, connected.credentials);
      await server.listInvoices((await refresh()).body.access_token);
      server.advanceClock(MINUTE);
      await refresh();
      return connected;
    },
    code_verifier_missing: () => guessDuringExchange(connections, { asked: PKCE, right: VERIFIER, guess: undefined }),
    code_verifier_unexpected: () => guessDuringExchange(connections, { asked: {}, right: undefined, guess: VERIFIER }),
    code_verifier_wrong: () =>
      guessDuringExchange(connections, { asked: PKCE, right: VERIFIER, guess: `${VERIFIER}-not` }),
  };
}

interface Guess {
  asked: Record<string, string>;
  right: string | undefined;
  guess: string | undefined;
}

/** A grant with tokens can end this way only if the code was guessed during its exchange. */
async function guessDuringExchange({ server, newApp, allow }: Connections, { asked, right, guess }: Guess) {
  const { app, credentials } = await newApp();
  return retryUntilFound(async () => {
    const code = await allow({ client_id: app.id, ...asked });
    const exchange = (code_verifier: string | undefined) => () =>
      server.exchange(code, { ...credentials, ...(code_verifier !== undefined && { code_verifier }) });
    const [first, second] = await runInSequence(server, exchange(right), exchange(guess));
    const isSo = first?.status === 200 && second?.body.reason.startsWith('code_verifier_');
    return isSo ? { app, credentials, code, tokens: first.body as Tokens } : undefined;
  });
}

function endedByPeople({ server, connect }: Connections) {
  const db = () => server.storage().durable;
  const connectAs = async (name: string, business = server.acme, changes = {}) => {
    const user = await server.addUser(name, [[business, 'member']]);
    return { user, connected: await connect(changes, await server.signedIn(user)) };
  };
  return {
    async disconnected_by_user() {
      const connected = await connect();
      const parties = { userId: server.ada.id, appId: connected.app.id, businessId: server.acme.id };
      await endConnection(db(), parties, 'disconnected_by_user', server.clock());
      return connected;
    },
    async disconnected_by_owner() {
      const connected = await connect();
      const everyone = { appId: connected.app.id, businessId: server.acme.id };
      await endForEveryone(db(), everyone, 'disconnected_by_owner', server.clock());
      return connected;
    },
    async app_deleted() {
      const connected = await connect();
      await deleteApp(OPERATOR, db(), connected.app, server.clock());
      return connected;
    },
    async app_paused() {
      const connected = await connect();
      await pauseApp(OPERATOR, db(), { app: connected.app }, server.clock());
      return connected;
    },
    async app_disabled() {
      const connected = await connect();
      await disableApp(OPERATOR, db(), connected.app, server.clock());
      return connected;
    },
    async app_closed() {
      const bolt = await server.addBusiness('Bolt');
      const { connected } = await connectAs('Boltine', bolt, { openToAnyBusiness: true });
      await changeApp(
        OPERATOR,
        db(),
        { appId: connected.app.id, change: () => ({ ...connected.app, openToAnyBusiness: false }) },
        server.clock(),
      );
      return connected;
    },
    async app_tokens_ended() {
      const connected = await connect();
      await endTokensOfApp(OPERATOR, db(), connected.app, server.clock());
      return connected;
    },
    async connection_limit() {
      const connected = await connect();
      const parties = { userId: server.ada.id, appId: connected.app.id, businessId: server.acme.id };
      await addExchangedGrants(server.storage(), { ...parties, count: MAX_GRANTS }, server.clock() + DAY);
      await makeRoom(db(), parties, server.clock());
      return connected;
    },
    async app_blocked() {
      const connected = await connect();
      const blocked = { app: connected.app, businessId: server.acme.id, reason: '' };
      await blockApp(OPERATOR, db(), blocked, server.clock());
      return connected;
    },
    async user_disabled() {
      const { user, connected } = await connectAs('Grace');
      await markUserDisabled(db(), user.id, server.clock());
      return connected;
    },
    async member_removed() {
      const { user, connected } = await connectAs('Edsger');
      await deleteMembership(db(), user.id, server.acme.id);
      return connected;
    },
    async connections_ended() {
      const { user, connected } = await connectAs('Emmy');
      await endConnectionsOfUser(OPERATOR, db(), user, server.clock());
      return connected;
    },
    async password_reset() {
      const { user, connected } = await connectAs('Rosalind');
      await resetAccount(db(), { userId: user.id, hash: '-', endsGrants: true }, server.clock());
      return connected;
    },
    async grant_expired() {
      const connected = await connect();
      const parties = { userId: server.ada.id, appId: connected.app.id, businessId: server.acme.id };
      await limitGrants(db(), parties, server.clock());
      return connected;
    },
    async backup_restored() {
      const connected = await connect();
      const [grant] = await db().selectFrom('grants').select('id').where('app_id', '=', connected.app.id).execute();
      await revokeGrant(db(), grant?.id ?? '', 'backup_restored', server.clock());
      return connected;
    },
  };
}
