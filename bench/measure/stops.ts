// `npx node bench/measure/stops.ts [--grants 100000] [--apps 3000] [--runs 5] [--seconds 3] [DATABASE_URL]`: how long a client of
// another business waits while an app, a user or a connection with many grants is stopped, and while one write concerns many apps.
// Alternates control and act, prints the longest response of each run, and whether the stop was effective at the next request.
// Uses a temporary SQLite file unless a PostgreSQL database is named, which must be empty. The server is its own process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createPasswordLink } from '../../src/accounts/password-links.ts';
import type { User } from '../../src/accounts/users.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { connectApps } from '../../test/support/connected-apps.ts';
import type { RegisteredApp } from '../../test/support/fixtures.ts';
import { startBystander } from './stops-bystander.ts';
import { SCOPES, type Seeded, seedGrants } from './stops-seed.ts';
import { startStoppedServer } from './stops-server.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    grants: { type: 'string', default: '100000' },
    apps: { type: 'string', default: '3000' },
    runs: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    only: { type: 'string' },
  },
});
const [RUNS, WINDOW] = [Number(values.runs), Number(values.seconds) * 1000];
/** Between the windows, so that nothing of one is left in the next. */
const PAUSE = 500;

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-stops-'));
const server = await startStoppedServer(positionals[0] ?? `sqlite:${join(folder, 'gatehouse.db')}`);
const { storage, acme, ada, addApp, addBusiness, addUser } = server;
const db = storage.durable;
const root = await addUser('Root', [], true);
const heir = await addUser('Heir', [[acme, 'owner']]);
console.error(`Adding ${values.grants} grants of an app, and as many of a user`);
const seeded = await seedGrants(server, Number(values.grants));
const bystander = await startBystander(server);

interface Act {
  what: string;
  /** The parties of a grant that it changes. Undefined if it leaves new grants as they are. */
  of?: (run: number) => { app: RegisteredApp; user: User };
  act(run: number): Promise<{ status: number; took: number }>;
  /** The status of the next request. */
  next?: number;
}

const { app, whale, whaleApp } = seeded;
const connected = `/businesses/${acme.id}/connected-apps`;
const developer = `/businesses/${acme.id}/developer/${app.id}`;
const ofApp = () => ({ app, user: ada });
const ofWhale = () => ({ app: whaleApp, user: whale });
/** Each run stops another connection, and the hand-over and the rest use different ones, too. */
const ofConnection = (first: number) => (run: number) => ({ app, user: seeded.users[first * RUNS + run] as User });
const [disconnected, narrowed, handedOver] = [ofConnection(0), ofConnection(1), ofConnection(2)];
const pathOf = ({ user }: { user: User }) => `${connected}/${app.id}/${user.id}`;

const ACTS: Act[] = [
  { what: 'pause an app', of: ofApp, act: () => server.submit(root, `/platform/apps/${app.id}/pause`) },
  { what: 'disable an app', of: ofApp, act: () => server.submit(ada, `${developer}/disable`) },
  { what: 'end every token of an app', of: ofApp, act: () => server.submit(ada, `${developer}/end-tokens`) },
  { what: 'disconnect for everyone', of: ofApp, act: () => server.submit(ada, `${connected}/${app.id}/disconnect`) },
  { what: 'disable a user', of: ofWhale, act: () => server.submit(root, `/platform/users/${whale.id}/disable`) },
  {
    what: 'remove a member',
    of: ofWhale,
    act: () => server.submit(ada, `/businesses/${acme.id}/members/${whale.id}/remove`),
  },
  { what: 'reset a password', of: ofWhale, act: resetPassword },
  {
    what: 'disconnect one connection',
    of: disconnected,
    act: (run) => server.submit(ada, `${pathOf(disconnected(run))}/disconnect`),
  },
  {
    what: 'narrow one connection',
    of: narrowed,
    act: (run) =>
      server.submit(ada, `${pathOf(narrowed(run))}/permissions`, [
        ...SCOPES.split(' ').map((scope): [string, string] => ['shown', scope]),
        ['scope', 'read:contacts'],
      ]),
    next: 403,
  },
  {
    what: 'hand one connection over',
    act: (run) =>
      server.submit(ada, `${pathOf(handedOver(run))}/authority`, [
        ['to', heir.id],
        ['scopes', SCOPES],
      ]),
  },
];

async function resetPassword() {
  const link = await createPasswordLink(OPERATOR, db, { userId: whale.id, businessId: null }, Date.now());
  const fields: [string, string][] = [
    ['password', `a new long phrase ${Date.now()}`],
    ['end_grants', 'yes'],
  ];
  return server.submit(undefined, `/password/${encodeURIComponent(link?.token ?? '')}`, fields);
}

async function callApi({ access_token }: { access_token: string }): Promise<number> {
  const headers = { authorization: `Bearer ${access_token}`, 'x-business-id': acme.id };
  return (await fetch(`${server.api}/api/v1/accounting/invoices`, { headers })).status;
}

/** As before the act. */
async function undo({ whale, app }: Seeded): Promise<void> {
  await db.deleteFrom('follow_ups').execute();
  await db.deleteFrom('stops').execute();
  await db
    .updateTable('grants')
    .set({ revoked_at: null, revoked_reason: null })
    .where('revoked_at', 'is not', null)
    .execute();
  await db.updateTable('apps').set({ paused_at: null, disabled_at: null }).where('id', '=', app.id).execute();
  await db.updateTable('users').set({ disabled_at: null }).where('id', '=', whale.id).execute();
  const membership = { user_id: whale.id, business_id: acme.id, role: 'member' as const, created_at: 1 };
  await db
    .insertInto('memberships')
    .values(membership)
    .onConflict((conflict) => conflict.columns(['user_id', 'business_id']).doNothing())
    .execute();
}

interface Run {
  control: number;
  during: number;
  took: number;
}

function report(what: string, runs: Run[]): void {
  const worst = (of: (run: Run) => number) => Math.round(Math.max(...runs.map(of)));
  const [control, during] = [worst((run) => run.control), worst((run) => run.during)];
  const each = runs.map((run) => `${Math.round(run.control)}/${Math.round(run.during)}`).join(', ');
  console.log(`| ${what} | ${control} | ${during} | ${during - control} | ${worst((run) => run.took)} | ${each} |`);
}

async function measure(what: string, runOnce: (run: number) => Promise<number>): Promise<void> {
  const runs: Run[] = [];
  for (let run = 0; run < RUNS; run++) {
    await setTimeout(PAUSE);
    const control = await bystander.during(() => setTimeout(WINDOW));
    await setTimeout(PAUSE);
    let took = 0;
    const during = await bystander.during(async () => {
      took = await runOnce(run);
      await setTimeout(WINDOW);
    });
    await undo(seeded);
    runs.push({ control, during, took });
  }
  report(what, runs);
}

console.log(
  '| act | worst of control | worst with the act | difference | the act itself | control/act of each run, in ms |',
);
console.log('|---|---|---|---|---|---|');
for (const { what, of, act, next = 401 } of ACTS) {
  if (values.only && !what.includes(values.only)) continue;
  await measure(what, async (run) => {
    const parties = of?.(run);
    const tokens = parties && (await server.connect(parties.user, parties.app, SCOPES));
    const before = tokens && (await callApi(tokens));
    const { status, took } = await act(run);
    const after = tokens && (await callApi(tokens));
    const isEffective = !tokens || (before === 200 && after === next);
    if (status !== 303 || !isEffective) throw new Error(`${what}: ${before}, ${status}, ${after}`);
    return took;
  });
}

const written = await addBusiness('Written');
const writer = await addUser('Writer', [[written, 'owner']]);
await connectApps(storage, { businessId: written.id, userId: writer.id, count: Number(values.apps) }, Date.now());
const writing = await addApp({ ownerBusinessId: written.id, scopes: ['write:contacts'] });
const write = await bystander.createWriter(writer, writing, written.id);
if (!values.only || 'one write'.includes(values.only)) await measure(`one write, ${values.apps} apps`, write);

bystander.stop();
await server.stop();
rmSync(folder, { recursive: true, force: true });
