import { sql } from 'kysely';
import { findUser, type User } from '../../src/accounts/users.ts';
import { DAY, HOUR } from '../../src/lib/clock.ts';
import { newId } from '../../src/lib/ids.ts';
import type { ConnectedFor } from '../../src/storage/app-tables.ts';
import { addMembers } from '../../test/support/bulk-data.ts';
import { connectApps } from '../../test/support/connected-apps.ts';
import type { RegisteredApp } from '../../test/support/fixtures.ts';
import type { StoppedServer } from './stops-server.ts';

/** The most live grants of one connection. */
export const PER_CONNECTION = 1000;
export const SCOPES = 'read:invoices read:contacts';

export interface Seeded {
  /** An app with all grants, of users who have as many each as one connection can have. */
  app: RegisteredApp;
  users: User[];
  /** A user with all grants, of apps that have as many each as one connection can have. */
  whale: User;
  /** Of the user. */
  whaleApp: RegisteredApp;
}

/** Adds an app and a user with this many grants each. */
export async function seedGrants(server: StoppedServer, count: number): Promise<Seeded> {
  const { storage, acme, addApp, addUser } = server;
  const connections = Math.ceil(count / PER_CONNECTION);
  const scopes = SCOPES.split(' ');
  const app = await addApp({ name: 'Popular', ownerBusinessId: acme.id, scopes });
  const userIds = Array.from({ length: connections }, () => newId(Date.now()));
  await addMembers(storage, { businessId: acme.id, userIds }, Date.now());
  const whale = await addUser('Whale', [[acme, 'member']]);
  const whaleApp = await addApp({ name: 'Of the whale', ownerBusinessId: acme.id, scopes });
  const connected = { businessId: acme.id, userId: whale.id, scopes: SCOPES };
  const appIds = await connectApps(storage, { ...connected, count: connections }, Date.now());
  let from = 0;
  const insert = async (appId: string, userId: string, connectedFor: ConnectedFor) => {
    await insertConnection(server, { appId, userId, connectedFor, from });
    from += PER_CONNECTION;
  };
  for (const userId of userIds) await insert(app.id, userId, 'business');
  for (const appId of appIds) await insert(appId, whale.id, 'user');
  if (storage.engine === 'postgres') await sql`vacuum analyze`.execute(storage.durable);
  else await sql`analyze`.execute(storage.durable);
  const users = await Promise.all(userIds.slice(0, 100).map((id) => findUser(storage.durable, id)));
  return { app, users: users.filter((user) => user !== undefined), whale, whaleApp };
}

interface Connection {
  appId: string;
  userId: string;
  connectedFor: ConnectedFor;
  /** The number of grants before it. */
  from: number;
}

async function insertConnection(
  { storage, acme }: StoppedServer,
  { appId, userId, connectedFor, from }: Connection,
): Promise<void> {
  const isPostgres = storage.engine === 'postgres';
  const now = Date.now();
  const last = from + PER_CONNECTION;
  const id = isPostgres
    ? sql.raw(`('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`)
    : sql.raw(`printf('01900000-0000-7000-8000-%012x', n)`);
  const salt = sql.raw(isPostgres ? `decode(md5(n::text), 'hex')` : 'randomblob(16)');
  const numbers = isPostgres
    ? sql.raw(`generate_series(${from + 1}, ${last}) as numbers(n)`)
    : sql.raw(`(with recursive numbers(n) as (select ${from + 1} union all select n + 1 from numbers where n < ${last})
        select n from numbers) as numbers`);
  const uuid = (text: string) => (isPostgres ? sql`${text}::uuid` : sql`${text}`);
  await sql`insert into grants (id, salt, app_id, user_id, business_id, connected_for, scopes, created_at,
      code_expires_at, exchanged_at, rotation, rotated_at, refresh_expires_at, removable_on)
    select ${id}, ${salt}, ${uuid(appId)}, ${uuid(userId)}, ${uuid(acme.id)}, ${sql.lit(connectedFor)}, ${sql.lit(SCOPES)}, ${sql.lit(now)},
      ${sql.lit(now)}, ${sql.lit(now - HOUR)}, 0, ${sql.lit(now)}, ${sql.lit(now + 30 * DAY)}, 1000000
    from ${numbers}`.execute(storage.durable);
}
