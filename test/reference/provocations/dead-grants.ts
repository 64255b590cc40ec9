import { createHash } from 'node:crypto';
import { deleteMembership } from '../../../src/accounts/memberships.ts';
import { markUserDisabled } from '../../../src/accounts/users.ts';
import { changeApp, deleteApp } from '../../../src/apps/apps.ts';
import { OPERATOR } from '../../../src/audit/entries.ts';
import { resetAccount } from '../../../src/grants/account-reset.ts';
import { endConnections } from '../../../src/grants/connections.ts';
import { revokeGrant } from '../../../src/grants/grants.ts';
import { disableApp, pauseApp } from '../../../src/grants/suspension.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import type { Browser } from '../../support/browser.ts';
import type { Tokens } from '../../support/client.ts';
import type { RegisteredApp } from '../../support/people.ts';
import type { World } from '../../support/world.ts';
import { once } from './provocation.ts';
import { takeTurns, untilFound } from './turns.ts';

export interface Connected {
  app: RegisteredApp;
  credentials: { client_id: string; client_secret: string };
  code: string;
  tokens: Tokens;
}

export const VERIFIER = 'a-verifier-that-is-long-enough-for-any-server';
const code_challenge = createHash('sha256').update(VERIFIER).digest('base64url');
export const PKCE = { code_challenge, code_challenge_method: 'S256' };

export type Connections = ReturnType<typeof newConnections>;

/** Makes grants, each of an app of its own, so that ending one touches no other. */
export function newConnections(world: World) {
  const ada = once(() => world.signedIn());

  async function newApp(changes: Parameters<World['addApp']>[0] = {}) {
    const app = await world.addApp({ ownerBusinessId: world.acme.id, ...changes });
    return { app, credentials: { client_id: app.id, client_secret: app.secret } };
  }

  async function connect(changes: Parameters<World['addApp']>[0] = {}, browser?: Browser): Promise<Connected> {
    const { app, credentials } = await newApp(changes);
    const code = await world.allow({ client_id: app.id }, browser ?? (await ada()));
    const { body: tokens } = await world.exchange(code, credentials);
    return { app, credentials, code, tokens };
  }

  const allow = async (query: Record<string, string>) => world.allow(query, await ada());
  return { world, newApp, connect, allow };
}

/** One way to end a grant for each reason there is; each gives what it has ended. */
export function newDeadGrants(connections: Connections): Record<string, () => Promise<Connected>> {
  const ends = { ...endedByApp(connections), ...endedByPeople(connections) };
  return Object.fromEntries(Object.entries(ends).map(([reason, end]) => [reason, once(end)]));
}

function endedByApp({ world, connect, newApp, allow }: Connections) {
  return {
    async revoked_by_app() {
      const connected = await connect();
      await world.revoke(connected.tokens.refresh_token);
      return connected;
    },
    async code_reused() {
      const connected = await connect();
      await world.exchange(connected.code, connected.credentials);
      return connected;
    },
    async refresh_token_reused() {
      const connected = await connect();
      const refresh = () => world.refresh(connected.tokens.refresh_token, connected.credentials);
      await world.listInvoices((await refresh()).body.access_token);
      world.wind(MINUTE);
      await refresh();
      return connected;
    },
    /** A grant that has tokens can only end this way if the code was tried out while it was being exchanged. */
    async code_verifier_wrong() {
      const { app, credentials } = await newApp();
      return untilFound(async () => {
        const code = await allow({ client_id: app.id, ...PKCE });
        const exchange = (code_verifier: string) => () => world.exchange(code, { ...credentials, code_verifier });
        const [first, second] = await takeTurns(world, exchange(VERIFIER), exchange(`${VERIFIER}-not`));
        const isSo = first?.status === 200 && second?.body.reason === 'code_verifier_wrong';
        return isSo ? { app, credentials, code, tokens: first.body as Tokens } : undefined;
      });
    },
  };
}

function endedByPeople({ world, connect }: Connections) {
  const db = () => world.storage().durable;
  const connectAs = async (name: string, business = world.acme, changes = {}) => {
    const user = await world.addUser(name, [[business, 'member']]);
    return { user, connected: await connect(changes, await world.signedIn(user)) };
  };
  return {
    async disconnected_by_user() {
      const connected = await connect();
      const parties = { userId: world.ada.id, appId: connected.app.id, businessId: world.acme.id };
      await endConnections(db(), parties, 'disconnected_by_user', world.clock());
      return connected;
    },
    async disconnected_by_owner() {
      const connected = await connect();
      const everyone = { appId: connected.app.id, businessId: world.acme.id };
      await endConnections(db(), everyone, 'disconnected_by_owner', world.clock());
      return connected;
    },
    async app_deleted() {
      const connected = await connect();
      await deleteApp(OPERATOR, db(), connected.app, world.clock());
      return connected;
    },
    async app_paused() {
      const connected = await connect();
      await pauseApp(OPERATOR, db(), { app: connected.app }, world.clock());
      return connected;
    },
    async app_disabled() {
      const connected = await connect();
      await disableApp(OPERATOR, db(), connected.app, world.clock());
      return connected;
    },
    async app_closed() {
      const bolt = await world.addBusiness('Bolt');
      const { connected } = await connectAs('Boltine', bolt, { openToAnyBusiness: true });
      await changeApp(
        OPERATOR,
        db(),
        { appId: connected.app.id, change: () => ({ ...connected.app, openToAnyBusiness: false }) },
        world.clock(),
      );
      return connected;
    },
    async user_disabled() {
      const { user, connected } = await connectAs('Grace');
      await markUserDisabled(db(), user.id, world.clock());
      return connected;
    },
    async member_removed() {
      const { user, connected } = await connectAs('Edsger');
      await deleteMembership(db(), user.id, world.acme.id);
      return connected;
    },
    async password_reset() {
      const { user, connected } = await connectAs('Rosalind');
      await resetAccount(db(), { userId: user.id, hash: '-', endsGrants: true }, world.clock());
      return connected;
    },
    async backup_restored() {
      const connected = await connect();
      const [grant] = await db().selectFrom('grants').select('id').where('app_id', '=', connected.app.id).execute();
      await revokeGrant(db(), grant?.id ?? '', 'backup_restored', world.clock());
      return connected;
    },
  };
}
