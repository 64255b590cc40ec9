import type { Account, Adapter, AdapterPayload, ClientMetadata } from 'oidc-provider';
import pg from 'pg';

/**
 * Stores the models of oidc-provider in PostgreSQL, after the contract in its example/my_adapter.js: one table, its primary key by model and id, an index by
 * grant for revocations, and every statement prepared once per connection. Payloads are text, which is faster to write than `jsonb`.
 * Users have a table of their own: oidc-provider leaves it to the application where it finds an account.
 */
const SCHEMA = `
  create table if not exists oidc_models (
    model text not null, id text not null, payload text not null, grant_id text, uid text, expires_at bigint, consumed_at bigint,
    primary key (model, id)
  );
  create index if not exists oidc_models_by_grant on oidc_models (grant_id) where grant_id is not null;
  create index if not exists oidc_models_by_uid on oidc_models (model, uid) where uid is not null;
  create table if not exists users (id text primary key, name text not null, email text not null);
`;

const UPSERT = `insert into oidc_models (model, id, payload, grant_id, uid, expires_at) values ($1, $2, $3, $4, $5, $6)
  on conflict (model, id) do update set payload = excluded.payload, grant_id = excluded.grant_id, uid = excluded.uid, expires_at = excluded.expires_at`;
const FOUND = 'select payload, consumed_at from oidc_models where model = $1';
const UNEXPIRED = '(expires_at is null or expires_at > $3)';

interface Found {
  payload: string;
  consumed_at: string | null;
}

interface FoundUser {
  id: string;
  name: string;
  email: string;
}

/** What a platform stores: apps that developers register, its users, and the models of oidc-provider. */
export async function openDatabase(connectionString: string) {
  const pool = new pg.Pool({ connectionString, max: 10 });
  await pool.query(SCHEMA);
  const adapter = createAdapters(pool);
  return {
    adapter,
    addClient: (client: ClientMetadata) => adapter('Client').upsert(client.client_id, client, 0),
    async addUser(id: string): Promise<void> {
      const text = 'insert into users (id, name, email) values ($1, $1, $2) on conflict do nothing';
      await pool.query({ name: 'add_user', text, values: [id, `${id}@example.com`] });
    },
    async findAccount(_: unknown, id: string): Promise<Account | undefined> {
      const query = { name: 'find_user', text: 'select id, name, email from users where id = $1', values: [id] };
      const [user] = (await pool.query<FoundUser>(query)).rows;
      return user && { accountId: id, claims: async () => ({ sub: user.id, name: user.name, email: user.email }) };
    },
  };
}

function createAdapters(pool: pg.Pool): (model: string) => Adapter {
  const run = (name: string, text: string, values: unknown[]) => pool.query<Found>({ name, text, values });
  const read = async (name: string, text: string, values: unknown[]) => {
    const [found] = (await run(name, text, values)).rows;
    if (!found) return undefined;
    const payload: AdapterPayload = JSON.parse(found.payload);
    return found.consumed_at === null ? payload : { ...payload, consumed: Number(found.consumed_at) };
  };
  return (model) => ({
    async upsert(id, payload, expiresIn) {
      const { grantId = null, uid = null } = payload;
      const expiresAt = expiresIn ? now() + expiresIn : null;
      await run('upsert', UPSERT, [model, id, JSON.stringify(payload), grantId, uid, expiresAt]);
    },
    find: (id) => read('find', `${FOUND} and id = $2 and ${UNEXPIRED}`, [model, id, now()]),
    findByUid: (uid) => read('find_by_uid', `${FOUND} and uid = $2 and ${UNEXPIRED}`, [model, uid, now()]),
    findByUserCode: async () => undefined,
    async consume(id) {
      await run('consume', 'update oidc_models set consumed_at = $3 where model = $1 and id = $2', [model, id, now()]);
    },
    async destroy(id) {
      await run('destroy', 'delete from oidc_models where model = $1 and id = $2', [model, id]);
    },
    async revokeByGrantId(grantId) {
      await run('revoke', 'delete from oidc_models where model = $1 and grant_id = $2', [model, grantId]);
    },
  });
}

const now = () => Math.floor(Date.now() / 1000);
