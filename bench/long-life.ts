import { setTimeout } from 'node:timers/promises';
import { speakTo, startGatehouse } from './contenders/gatehouse.ts';
import { askAll, countRows, type Engine, sizeOf, tableSize } from './databases.ts';
import { fill } from './fill.ts';
import { connectMany } from './scenarios/scenario.ts';
import { seed } from './seed.ts';
import { openLane } from './wire.ts';

/** What developers see of their app's requests: the last thousand, and counts by the hour. */
const REQUEST_LOG = ['logged_requests', 'request_counts', 'scope_uses'];

/** After so long, what the server notes by the way has been stored. */
const NOTED_WITHIN = 3000;

export interface Chain {
  engine: string;
  refreshes: number;
  /** More rows than before, the request log aside. */
  newRows: number;
  newLogRows: number;
  bytesBefore: number;
  bytesAfter: number;
}

/** One grant, refreshed over and over by the one client that has it. */
export async function refreshOneGrant(engine: Engine, refreshes: number): Promise<Chain> {
  const url = await engine.newUrl();
  const seeded = await seed(url, 1);
  const running = speakTo(await startGatehouse(url), seeded);
  const lane = openLane();
  try {
    let [{ tokens } = { tokens: { access: '', refresh: '' } }] = await connectMany(running, [lane], 1);
    await setTimeout(NOTED_WITHIN);
    const [rowsBefore, bytesBefore] = [await countRows(url), await sizeOf(url)];
    for (let done = 0; done < refreshes; done += 1) {
      const request = running.refresh(tokens.refresh);
      tokens = running.readTokens(request, await lane.ask(request));
    }
    await setTimeout(NOTED_WITHIN);
    const rowsAfter = await countRows(url);
    const more = (names: string[]) =>
      names.reduce((sum, name) => sum + (rowsAfter.get(name) ?? 0) - (rowsBefore.get(name) ?? 0), 0);
    const others = [...rowsAfter.keys()].filter((name) => !REQUEST_LOG.includes(name));
    const sizes = { bytesBefore, bytesAfter: await sizeOf(url) };
    return { engine: engine.name, refreshes, newRows: more(others), newLogRows: more(REQUEST_LOG), ...sizes };
  } finally {
    lane.close();
    await running.stop();
  }
}

export interface Bytes {
  engine: string;
  grants: number;
  perGrant: number;
}

/** Not all at once: that would leave room for each row twice. */
const PORTIONS = 24;

/**
 * Grants made one after the other, and then each refreshed once, which writes its row anew: some here, some there, as
 * refreshes come. The table and all its indexes.
 */
export async function weighGrants(engine: Engine, grants: number): Promise<Bytes> {
  const url = await engine.newUrl();
  const { app } = await seed(url, 1);
  await fill(url, { grants, appId: app.id, order: 'of time' });
  for (let portion = 0; portion < PORTIONS; portion += 1) {
    const theirs = `where (rotated_at / 1000) % ${PORTIONS} = ${portion}`;
    await askAll(url, `update grants set rotation = rotation + 1, rotated_at = rotated_at + 1 ${theirs}`);
  }
  if (engine.name === 'postgres') await askAll(url, 'vacuum grants');
  return { engine: engine.name, grants, perGrant: (await tableSize(url, 'grants')) / grants };
}
