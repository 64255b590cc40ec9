import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import manifest from '../../package.json' with { type: 'json' };
import { freePort } from '../../test/support/ports.ts';
import type { BenchEnvironment, Contender, RunningServer } from '../contender.ts';
import { createDatabase, findPostmaster } from '../databases.ts';
import { LOAD_SETTINGS } from '../load-settings.ts';
import { type Child, startChild } from '../process.ts';
import { type Seed, seed } from '../seed.ts';
import { gatehouseRequests } from './gatehouse-requests.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The program of `npm run gatehouse`, as an absolute path. */
const PROGRAM = join(ROOT, manifest.scripts.gatehouse.split(' ').at(-1) ?? '');

export const gatehouseOnSqlite: Contender = {
  name: 'gatehouse-sqlite',
  title: 'Gatehouse, SQLite',
  needsBothCores: false,
  isPeer: false,
  start: async ({ folder, users }) => startOn(`sqlite:${join(folder, 'gatehouse.db')}`, users),
};

export const gatehouseOnPostgres: Contender = {
  name: 'gatehouse-postgres',
  title: 'Gatehouse, PostgreSQL',
  needsBothCores: true,
  isPeer: false,
  start: async ({ postgresUrl, users }: BenchEnvironment) => startOn(await createDatabase(await postgresUrl()), users),
};

async function startOn(url: string, users: number): Promise<RunningServer> {
  const seeded = await seed(url, users);
  return addRequests(await startGatehouse(url), seeded);
}

export interface Gatehouse extends Child {
  api: string;
  web: string;
  findPostmaster(): Promise<number | undefined>;
}

/** Runs the real command on free ports. */
export async function startGatehouse(url: string): Promise<Gatehouse> {
  const [api, web] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const settings = { ...LOAD_SETTINGS, BASE_URL: api, CONSENT_URL: web, DATABASE_URL: url };
  const child = await startChild([PROGRAM, 'serve'], settings, `${api}/readyz`);
  return { ...child, api, web, findPostmaster: () => findPostmaster(url) };
}

export function addRequests({ api, web, ...process }: Gatehouse, seeded: Seed): RunningServer {
  return { ...process, ...gatehouseRequests(seeded, [api, web]) };
}
