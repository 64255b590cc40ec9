import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import manifest from '../../package.json' with { type: 'json' };
import { freePort } from '../../test/support/ports.ts';
import type { Contender, Running, Setting } from '../contender.ts';
import { findPostmaster, newDatabase } from '../databases.ts';
import { type Child, startChild } from '../process.ts';
import { SECRET_KEY, type Seed, seed } from '../seed.ts';
import { speakToGatehouse } from './speech.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What `npm run gatehouse` runs, without `exec node`, from wherever. */
const COMMAND = manifest.scripts.gatehouse
  .split(' ')
  .slice(2)
  .map((part) => (part.startsWith('-') ? part : join(ROOT, part)));

const MANY = '1000000000';

/**
 * As it is run in production, but for two settings. Limits are raised: all of the load is one app from one address.
 * Only errors are logged, since no peer logs its requests either.
 */
const SETTINGS = {
  SECRET_KEYS: SECRET_KEY,
  LOG_LEVEL: 'error',
  LIMIT_PER_APP: MANY,
  LIMIT_PER_GRANT: MANY,
  LIMIT_WRONG_SECRETS: MANY,
  LIMIT_PER_USER: MANY,
  LIMIT_CHANGES_PER_USER: MANY,
};

export const gatehouseOnSqlite: Contender = {
  name: 'gatehouse-sqlite',
  title: 'Gatehouse, SQLite',
  needsBothCores: false,
  isPeer: false,
  start: async ({ folder, people }) => startOn(`sqlite:${join(folder, 'gatehouse.db')}`, people),
};

export const gatehouseOnPostgres: Contender = {
  name: 'gatehouse-postgres',
  title: 'Gatehouse, PostgreSQL',
  needsBothCores: true,
  isPeer: false,
  start: async ({ postgresUrl, people }: Setting) => startOn(await newDatabase(await postgresUrl()), people),
};

async function startOn(url: string, people: number): Promise<Running> {
  const seeded = await seed(url, people);
  return speakTo(await startGatehouse(url), seeded);
}

export interface Gatehouse extends Child {
  api: string;
  web: string;
  findPostmaster(): Promise<number | undefined>;
}

/** The real command, on ports of its own. */
export async function startGatehouse(url: string): Promise<Gatehouse> {
  const [api, web] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const settings = { ...SETTINGS, BASE_URL: api, CONSENT_URL: web, DATABASE_URL: url };
  const child = await startChild([...COMMAND, 'serve'], settings, `${api}/readyz`);
  return { ...child, api, web, findPostmaster: () => findPostmaster(url) };
}

export function speakTo({ api, web, ...process }: Gatehouse, seeded: Seed): Running {
  return { ...process, ...speakToGatehouse(seeded, [api, web]) };
}
