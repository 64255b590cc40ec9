import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newUserRow } from '../../../src/accounts/new-users.ts';
import { newId } from '../../../src/lib/ids.ts';
import type { Database } from '../../../src/storage/storage.ts';
import { nextPageLink } from '../../support/browser.ts';
import { startTestServer } from '../../support/test-server.ts';

const MANY = 10_000;
const AT_ONCE = 500;
const server = await startTestServer();
const root = await server.addUser('Root', [], true);
const admin = await server.signedIn(root);
await server.storage().transaction(fill);

/** The number of rows of each list, and of connections of one app. */
async function fill(db: Database): Promise<void> {
  const businesses = names('Firm', (id, name) => ({ id, name, created_at: 1 }));
  const users = names('Person', (id, name) => {
    const email = `${name.replace(' ', '').toLowerCase()}@example.com`;
    return { ...newUserRow({ email, name, passwordHash: '', isPlatformAdmin: false }, 1), id };
  });
  const ledger = await db.selectFrom('apps').selectAll().where('id', '=', server.ledger.id).executeTakeFirstOrThrow();
  const apps = names('Tool', (id, name, i) => ({ ...ledger, id, name, owner_business_id: businesses[i]?.id ?? null }));
  await db.updateTable('apps').set({ open_to_any_business: 1 }).where('id', '=', ledger.id).execute();
  const memberships = users.map(({ id }, i) => ({
    user_id: id,
    business_id: businesses[i]?.id ?? '',
    role: 'owner' as const,
    created_at: 1,
  }));
  const grants = memberships.map(({ user_id, business_id }) => ({
    id: newId(server.clock()),
    salt: new Uint8Array(16),
    app_id: ledger.id,
    user_id,
    business_id,
    scopes: 'read:invoices',
    created_at: 2,
    code_expires_at: 3,
    rotation: 0,
    refresh_expires_at: server.clock() + 1e9,
    removable_on: 40_000,
  }));
  for (let index = 0; index < MANY; index += AT_ONCE) {
    const part = <Item>(items: Item[]) => items.slice(index, index + AT_ONCE);
    await db.insertInto('businesses').values(part(businesses)).execute();
    await db.insertInto('users').values(part(users)).execute();
    await db.insertInto('apps').values(part(apps)).execute();
    await db.insertInto('memberships').values(part(memberships)).execute();
    await db.insertInto('grants').values(part(grants)).execute();
  }
}

function names<Item>(word: string, make: (id: string, name: string, i: number) => Item): Item[] {
  return Array.from({ length: MANY }, (_, i) => make(newId(server.clock() + i), `${word} ${i}`, i));
}

const ROW = /<li class="entry"><span class="avatar[^>]*>[^<]*<\/span><div><a href="[^"]*">([^<]*)</g;
const rowsOf = (text: string) => [...text.matchAll(ROW)].map(([, name = '']) => name);

const LISTS = [
  { path: '/platform/apps', word: 'Tool', other: 'Firm 4321', found: 'Tool 4321' },
  { path: '/platform/businesses', word: 'Firm', other: 'FIRM 4321', found: 'Firm 4321' },
  { path: '/platform/users', word: 'Person', other: 'person4321@', found: 'Person 4321' },
];

for (const { path, word, other, found } of LISTS) {
  test(`of 10,000 rows behind ${path} a page shows 50, newest first, in under 50 kB`, async () => {
    const first = await admin.open(path);
    const second = await admin.open(nextPageLink(first) ?? '');

    const numbers = (text: string) => rowsOf(text).map((name) => Number(name.split(' ')[1]));
    assert.deepEqual([first.status, rowsOf(first.text).length, rowsOf(second.text).length], [200, 50, 50]);
    assert.deepEqual(
      numbers(first.text + second.text),
      numbers(first.text + second.text).toSorted((a, b) => b - a),
    );
    assert.ok(Buffer.byteLength(first.text) < 50_000, `${Buffer.byteLength(first.text)} bytes`);
  });

  test(`the search of ${path} finds one among 10,000 by its name, by another trait and by its id`, async () => {
    const byName = await admin.open(`${path}?q=${encodeURIComponent(`${word.toUpperCase()} 4321`)}`);
    const byOther = await admin.open(`${path}?q=${encodeURIComponent(other)}`);
    const id = new RegExp(`href="${path}/([0-9a-f-]{36})">`).exec(byName.text)?.[1];
    const byId = await admin.open(`${path}?q=${id}`);

    assert.deepEqual(
      [byName, byOther, byId].map(({ text }) => rowsOf(text)),
      [[found], [found], [found]],
    );
  });

  test(`the next page of a search of ${path} continues the search`, async () => {
    const first = await admin.open(`${path}?q=${encodeURIComponent(`${word} 77`)}`);
    const second = await admin.open(nextPageLink(first) ?? '');
    const third = await admin.open(nextPageLink(second) ?? '');

    const shown = [first, second, third].flatMap(({ text }) => rowsOf(text));
    assert.equal(shown.length, 111);
    assert.ok(shown.every((name) => name.startsWith(`${word} 77`)));
    assert.equal(nextPageLink(third), undefined);
  });

  test(`a search of ${path} takes every character literally, and says when nothing is found`, async () => {
    for (const search of ['%', '_', '!', '\\', "'", '<b>', 'a'.repeat(300), '\0']) {
      const { status, text } = await admin.open(`${path}?q=${encodeURIComponent(search)}`);
      const isNothing = search !== '\0';
      assert.equal(status, 200);
      assert.equal(rowsOf(text).length, isNothing ? 0 : 50, search);
      if (isNothing) assert.match(text, /Nothing found for/);
    }
    assert.equal((await admin.open(`${path}?q=a&q=b&after=x&after=y`)).status, 200);
  });
}

test('an app that 10,000 businesses have connected says so before it is paused', async () => {
  const path = `/platform/apps/${server.ledger.id}`;
  const { text } = await admin.open(path);

  assert.match(text, /10,000 businesses, 10,000 users/);
});

test('the page of a business shows its details, its members and its own apps', async () => {
  const found = await admin.open('/platform/businesses?q=Firm%204321');
  const path = /href="(\/platform\/businesses\/[0-9a-f-]{36})"/.exec(found.text)?.[1] ?? '';

  const { text } = await admin.open(path);

  assert.match(text, /<h1>Firm 4321/);
  assert.match(text, /person4321@example\.com/);
  assert.match(text, /Tool 4321/);
  assert.match(text, /1 app, by 1 member/);
});

test('every platform page links to the others, and marks the current one', async () => {
  for (const { path } of [...LISTS, { path: '/platform/developer/apps' }]) {
    const { text } = await admin.open(path);
    const [, tabs = ''] = /<nav class="tabs" aria-label="Platform">(.*?)<\/nav>/s.exec(text) ?? [];
    assert.equal([...tabs.matchAll(/href=/g)].length, 6);
    assert.ok(text.indexOf('<h1>') < text.indexOf('<nav class="tabs"'), `${path} has its title above the tabs`);
    assert.ok(tabs.includes(`href="${path}" aria-current="page"`), path);
  }
});
