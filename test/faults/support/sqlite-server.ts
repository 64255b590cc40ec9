import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Tokens } from '../../support/client.ts';
import { createApiClient } from './api-client.ts';
import { createBusinesses, fetchCsrf, type TestBusiness } from './businesses.ts';
import { connect } from './races.ts';
import { createServeProcess, newAddresses, type ServeOptions } from './serve-process.ts';

export type SqliteServer = Awaited<ReturnType<typeof createSqliteServer>>;

/** A database file in a temporary folder, with fixtures. */
export async function createSqliteServer(env: Record<string, string> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'gatehouse-faults-'));
  after(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, 'data');
  const file = join(folder, 'gatehouse.db');
  const url = `sqlite:${file}`;
  const addresses = await newAddresses();
  const [business] = (await createBusinesses(url, 1, addresses)) as [TestBusiness];
  const apiClient = createApiClient(() => addresses.api);
  return {
    folder,
    file,
    url,
    business,
    apiClient,
    addresses,
    serve: ({ env: more = {}, ...wanted }: ServeOptions = {}) =>
      createServeProcess(addresses, url, { ...wanted, env: { ...env, ...more } }),
    async connect(count: number): Promise<Tokens[]> {
      if (business.owner.csrf === '') await fetchCsrf(business.owner);
      const pairs: Tokens[] = [];
      while (pairs.length < count) pairs.push(await connect({ apiClient, app: business.app }, business.owner));
      return pairs;
    },
  };
}

/** Whether a program is installed and permitted. */
export function canRun(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
