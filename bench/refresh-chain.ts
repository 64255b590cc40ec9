import { setTimeout } from 'node:timers/promises';
import { addRequests, startGatehouse } from './contenders/gatehouse.ts';
import { countRows, type Engine, queryRows, sizeOf, tableSize } from './databases.ts';
import { fill } from './fill.ts';
import { createHttpClient } from './http-client.ts';
import { connectMany } from './scenarios/scenario.ts';
import { seed } from './seed.ts';

const REQUEST_LOG = ['logged_requests', 'request_counts', 'scope_uses'];

/** The server writes the request log with a delay. */
const FLUSH_DELAY = 3000;

export interface RefreshChain {
  engine: string;
  refreshes: number;
  /** Without those of the request log. */
  newRows: number;
  newLogRows: number;
  bytesBefore: number;
  bytesAfter: number;
}

/** Refreshes one grant many times, with one client. */
export async function refreshOneGrant(engine: Engine, refreshes: number): Promise<RefreshChain> {
  const url = await engine.newUrl();
  const seeded = await seed(url, 1);
  const running = addRequests(await startGatehouse(url), seeded);
  const client = createHttpClient();
  try {
    let [{ tokens } = { tokens: { access: '', refresh: '' } }] = await connectMany(running, [client], 1);
    await setTimeout(FLUSH_DELAY);
    const [rowsBefore, bytesBefore] = [await countRows(url), await sizeOf(url)];
    for (let done = 0; done < refreshes; done += 1) {
      const request = running.refresh(tokens.refresh);
      tokens = running.readTokens(request, await client.ask(request));
    }
    await setTimeout(FLUSH_DELAY);
    const rowsAfter = await countRows(url);
    const countNew = (names: string[]) =>
      names.reduce((sum, name) => sum + (rowsAfter.get(name) ?? 0) - (rowsBefore.get(name) ?? 0), 0);
    const others = [...rowsAfter.keys()].filter((name) => !REQUEST_LOG.includes(name));
    const sizes = { bytesBefore, bytesAfter: await sizeOf(url) };
    return { engine: engine.name, refreshes, newRows: countNew(others), newLogRows: countNew(REQUEST_LOG), ...sizes };
  } finally {
    client.close();
    await running.stop();
  }
}

export interface GrantSize {
  engine: string;
  grants: number;
  perGrant: number;
}

/** Updating all rows at once would double the table. */
const BATCHES = 24;

/**
 * The size of the grants table with its indexes, after the grants were inserted in the order of time and each was updated
 * once, in random order.
 */
export async function measureGrantSize(engine: Engine, grants: number): Promise<GrantSize> {
  const url = await engine.newUrl();
  const { app } = await seed(url, 1);
  await fill(url, { grants, appId: app.id, order: 'of time' });
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const rows = `where (rotated_at / 1000) % ${BATCHES} = ${batch}`;
    await queryRows(url, `update grants set rotation = rotation + 1, rotated_at = rotated_at + 1 ${rows}`);
  }
  if (engine.name === 'postgres') await queryRows(url, 'vacuum grants');
  return { engine: engine.name, grants, perGrant: (await tableSize(url, 'grants')) / grants };
}
