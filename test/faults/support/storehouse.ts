import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Tokens } from '../../support/client.ts';
import { newAsker } from './asking.ts';
import { connect } from './contest.ts';
import { type Firm, fetchCsrf, settleFirms } from './firms.ts';
import { newAddresses, newServing, type Wanted } from './serving.ts';

export type Storehouse = Awaited<ReturnType<typeof newStorehouse>>;

/** A database file in a folder of its own, with people in it. */
export async function newStorehouse(env: Record<string, string> = {}) {
  const place = mkdtempSync(join(tmpdir(), 'gatehouse-faults-'));
  after(() => rmSync(place, { recursive: true, force: true }));
  const folder = join(place, 'data');
  const file = join(folder, 'gatehouse.db');
  const url = `sqlite:${file}`;
  const addresses = await newAddresses();
  const [firm] = (await settleFirms(url, 1, addresses)) as [Firm];
  const asker = newAsker(() => addresses.api);
  return {
    folder,
    file,
    url,
    firm,
    asker,
    addresses,
    serve: ({ env: more = {}, ...wanted }: Wanted = {}) =>
      newServing(addresses, url, { ...wanted, env: { ...env, ...more } }),
    async connect(count: number): Promise<Tokens[]> {
      if (firm.owner.csrf === '') await fetchCsrf(firm.owner);
      const pairs: Tokens[] = [];
      while (pairs.length < count) pairs.push(await connect({ asker, app: firm.app }, firm.owner));
      return pairs;
    },
  };
}

/** Whether a program runs here at all, and may do what it is asked to. */
export function mayRun(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
