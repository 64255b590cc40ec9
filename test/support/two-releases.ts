import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runCommand, startNode, type UpgradeNode } from '../../scripts/upgrade/nodes.ts';
import { checkOut, findReleases } from '../../scripts/upgrade/releases.ts';
import type { User } from '../../src/accounts/users.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createApiClient } from '../faults/support/api-client.ts';
import { fetchCsrf, signIn } from '../faults/support/businesses.ts';
import { connect } from '../faults/support/races.ts';
import { createBrowser } from './browser.ts';
import type { Tokens } from './client.ts';
import { databaseUrl, runAsAdmin, withLongConnectTimeout } from './databases.ts';
import { createFixtures, type RegisteredApp } from './fixtures.ts';
import { startPostgres } from './postgres-server.ts';

const THIS = fileURLToPath(new URL('../..', import.meta.url));
/** The newest release; undefined in a shallow clone. */
export const [release] = findReleases();

export type World = Awaited<ReturnType<typeof openWorld>>;

/** A node of an earlier release, and one of this, on one database that is migrated for this. */
export async function openWorld(earlier: NonNullable<typeof release>) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-releases-'));
  const postgres = await startPostgres();
  const nodes: UpgradeNode[] = [];
  after(async () => {
    for (const node of nodes) node.kill();
    await postgres.remove();
    rmSync(folder, { recursive: true, force: true });
  });
  const checkout = checkOut(earlier, join(folder, 'earlier'));
  await runAsAdmin(postgres.url, ['create database shared']);
  // The earlier release may not know a parameter.
  const plain = databaseUrl(postgres.url, 'shared');
  const url = withLongConnectTimeout(plain);
  for (const each of [checkout, THIS]) {
    const { code, stderr } = await runCommand(each, ['migrate'], plain);
    assert.equal(code, 0, stderr);
  }
  nodes.push(await startNode('earlier', checkout, plain));
  nodes.push(await startNode('this', THIS, url));
  const storage = await openStorage(url);
  after(() => storage.close());
  const fixtures = await createFixtures(() => storage, Date.now);
  const root = await fixtures.addUser('Root', [], true);
  const [old, current] = nodes as [UpgradeNode, UpgradeNode];
  return { ...fixtures, root, storage, old, current, setPasswordOnOld };

  async function setPasswordOnOld(user: User): Promise<void> {
    const command = ['user', 'set-password', '--user', user.id, '--password', 'another long phrase', '--end-grants'];
    const { code, stderr } = await runCommand(checkout, command, plain);
    assert.equal(code, 0, stderr);
  }
}

export interface Parties {
  app: RegisteredApp;
  member: User;
}

export async function signInAt({ storage }: World, { api, web }: UpgradeNode, user: User) {
  const person = await signIn(storage, user, createBrowser(web, [api, web]));
  await fetchCsrf(person);
  return person;
}

export async function connectAt(on: World, node: UpgradeNode, { app, member }: Parties): Promise<Tokens> {
  return connect({ apiClient: createApiClient(() => node.api), app }, await signInAt(on, node, member));
}

/** Of an API call and then of a refresh: of the earlier release, and of this one. */
export async function ask({ old, current }: World, { app }: Parties, { access_token, refresh_token }: Tokens) {
  const statuses: (number | undefined)[] = [];
  for (const { api } of [old, current]) {
    const client = createApiClient(() => api);
    statuses.push((await client.use(access_token))?.status);
    if (statuses.at(-1) !== 200) assert.equal((await client.refresh(app, refresh_token))?.status, 400);
  }
  return statuses;
}
