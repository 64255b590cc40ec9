import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { type FollowUp, requestFollowUp } from '../../../src/grants/follow-ups.ts';
import type { Browser } from '../../support/browser.ts';
import { addLiveGrants } from '../../support/bulk-data.ts';
import { startTestServer } from '../../support/test-server.ts';

const server = await startTestServer();
const { acme, ada, ledger } = server;
const root = await server.addUser('Root', [], true);
const mia = await server.addUser('Mia', [[acme, 'member']]);
const LEFT = 30;
await addLiveGrants(
  server.storage(),
  Array.from({ length: LEFT }, () => ({ appId: ledger.id, businessId: acme.id, userId: mia.id })),
  server.clock(),
);

const db = server.storage().durable;
const isPostgres = server.storage().engine === 'postgres';
if (isPostgres) {
  await sql`create function fail() returns trigger language plpgsql as $$ begin raise 'broken'; end $$`.execute(db);
}

/** Opens the page while every batch of the follow-up fails. */
async function openDuring(browser: Browser, path: string, followUp: FollowUp, done: number): Promise<string> {
  const body = isPostgres ? sql`for each row execute function fail()` : sql`begin select raise(abort, 'broken'); end`;
  await sql`create trigger broken before delete on follow_ups ${body}`.execute(db);
  const { id } = await requestFollowUp(db, followUp, server.clock());
  await db.updateTable('follow_ups').set({ done }).where('id', '=', id).execute();
  const { text } = await browser.open(path);
  await sql`drop trigger broken ${isPostgres ? sql`on follow_ups` : sql``}`.execute(db);
  await server.finishFollowUps();
  return text;
}

const OF_APP: FollowUp = { kind: 'end', appId: ledger.id, reason: 'app_tokens_ended' };
const PAGES: [who: string, user: typeof ada, path: string, followUp: FollowUp][] = [
  ['the developer of an app', ada, server.acmePath(`developer/${ledger.id}`), OF_APP],
  ['a platform admin, of an app', root, `/platform/apps/${ledger.id}`, OF_APP],
  [
    'a platform admin, of a user',
    root,
    `/platform/users/${mia.id}`,
    { kind: 'end', userId: mia.id, reason: 'password_reset' },
  ],
  [
    'an owner, among connected apps',
    ada,
    server.acmePath('connected-apps'),
    { ...OF_APP, businessId: acme.id, reason: 'app_blocked' },
  ],
  [
    'an owner, among members',
    ada,
    server.acmePath('members'),
    { kind: 'end', userId: mia.id, businessId: acme.id, reason: 'member_removed' },
  ],
  [
    'a user, of their own',
    mia,
    server.acmePath('connected-apps'),
    { kind: 'end', userId: mia.id, reason: 'password_reset' },
  ],
];

for (const [who, user, path, followUp] of PAGES) {
  test(`${who}, sees the progress of a follow-up, and none without one`, async () => {
    const browser = await server.signedIn(user);

    const during = await openDuring(browser, path, followUp, 12_500);
    const { text: after, status } = await browser.open(path);

    assert.match(during, /<div id="follow-ups" data-live>[\s\S]*Ending access: 12,500 done, 30 left\./);
    assert.equal(status, 200);
    assert.doesNotMatch(after, /id="follow-ups"/);
  });
}
