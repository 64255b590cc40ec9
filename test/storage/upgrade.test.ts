import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { addUser, findUserByEmail } from '../../src/accounts/users.ts';
import { newId } from '../../src/lib/ids.ts';
import { openStorage } from '../../src/storage/database.ts';
import { migrate } from '../../src/storage/migrate.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { PASSWORD } from '../support/people.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A database as the version before account recovery left it. */
async function openOldDatabase(name: string): Promise<Storage> {
  const storage = await openStorage(`sqlite:${join(folder, name)}`);
  await migrate(storage, '004-standing');
  return storage;
}

const addOldUser = async ({ durable }: Storage, email: string, now: number) => {
  const id = newId(now);
  await sql`insert into users (id, email, name, password_hash, platform_admin, created_at) values (${id}, ${email}, 'X', '-', 0, ${now})`.execute(
    durable,
  );
  return id;
};

test('an upgrade keeps every account, and the oldest of those that look alike owns the address [E3]', async () => {
  const storage = await openOldDatabase('look-alikes.db');
  const oldest = await addOldUser(storage, 'paul@example.com', 1);
  const wide = await addOldUser(storage, 'ｐａｕｌ@example.com', 2);
  const cyrillic = await addOldUser(storage, '\u0440\u0430@example.com', 3);
  const alone = await addOldUser(storage, 'ｅｖｅ@example.com', 4);

  await migrate(storage);

  assert.equal((await findUserByEmail(storage.durable, 'ｐａｕｌ@example.com'))?.id, oldest);
  assert.equal((await findUserByEmail(storage.durable, '\u0440\u0430@example.com'))?.id, cyrillic);
  assert.equal((await findUserByEmail(storage.durable, 'eve@example.com'))?.id, alone);
  const ids = await storage.durable.selectFrom('users').select('id').orderBy('id').execute();
  assert.deepEqual(
    ids.map(({ id }) => id),
    [oldest, wide, cyrillic, alone],
  );
  for (const email of ['paul@example.com', 'pa@example.com', 'eve@example.com']) {
    const user = { email, name: 'X', password: PASSWORD, isPlatformAdmin: false };
    await assert.rejects(addUser(storage.durable, user, 5), /There is a user with this email address/);
  }
  await storage.close();
});

test('an upgrade trusts the addresses that an operator added, and not those of accounts made with an invitation [E2]', async () => {
  const storage = await openOldDatabase('verification.db');
  const { durable } = storage;
  const [added, invited, business] = [
    await addOldUser(storage, 'ada@example.com', 1),
    await addOldUser(storage, 'guest@example.com', 2),
    newId(3),
  ];
  const insertAct = (action: string, { at, by, businessId }: { at: number; by: string; businessId: string | null }) =>
    sql`insert into acts (id, at, action, actor_kind, actor_name, business_id, subject_kind, subject_id, subject_name, detail)
      values (${newId(at)}, ${at}, ${action}, ${by}, 'X', ${businessId}, 'user', ${by === 'user' ? invited : added}, 'X', '{}')`.execute(
      durable,
    );
  await insertAct('user.added', { at: 1, by: 'operator', businessId: null });
  await insertAct('user.added', { at: 2, by: 'user', businessId: null });
  await insertAct('member.joined', { at: 2, by: 'user', businessId: business });
  await sql`insert into businesses (id, name, created_at) values (${business}, 'Bolt', 1)`.execute(durable);
  await sql`insert into invitations (id, business_id, role, note, token_hash, invited_by, created_at, expires_at)
    values (${newId(4)}, ${business}, 'member', 'Kim', 'hash', ${added}, 4, 5000000000000)`.execute(durable);

  await migrate(storage);

  const users = await durable.selectFrom('users').selectAll().orderBy('id').execute();
  assert.deepEqual(
    users.map(({ email_verified_at, origin_business_id }) => [email_verified_at, origin_business_id]),
    [
      [1, null],
      [null, business],
    ],
  );
  const open = await durable.selectFrom('invitations').selectAll().where('withdrawn_at', 'is', null).execute();
  assert.deepEqual(open, [], 'an invitation that names no address ends');
  await storage.close();
});
