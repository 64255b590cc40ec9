import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createApiClient } from './api-client.ts';
import type { TestBusiness } from './businesses.ts';
import { findBroken, findForks } from './checks.ts';
import { createGate } from './gate.ts';
import { findTorn } from './integrity.ts';
import { createJournal, type Journal } from './journal.ts';
import { runLoad } from './load.ts';
import { createProgress, summarise } from './progress.ts';

/**
 * A retry window longer than any restart takes, so that a repeated refresh is always within it; and no limit for the many
 * removed secrets that are tried at the end.
 */
export const ENV = { REFRESH_RETRY_SECONDS: '300', LIMIT_WRONG_SECRETS: '1000000' };

interface KillTarget {
  what: string;
  kills: number;
  url: string;
  businesses: TestBusiness[];
  /** The addresses, chosen at random for each request. */
  apis: string[];
  /** Kills processes and restarts them. Returns the number of kills, and the time until all were ready. */
  kill(journal: Journal): Promise<{ times?: number; readyAfter: number; api?: string }>;
  /** Problems that the database's own checks find. */
  examine(): string[] | Promise<string[]>;
}

/** Kills repeatedly under load, and after each kill compares the journal with the server. */
export async function killUnderLoad(
  context: TestContext,
  { what, kills, url, businesses, apis, kill, examine }: KillTarget,
) {
  const [journal, gate] = [createJournal(), createGate()];
  const apiClient = createApiClient(() => apis[randomInt(apis.length)] ?? '');
  const progress = createProgress(what, kills);
  const ready: number[] = [];
  const load = businesses.map((business) => gate.run(() => runLoad({ business, journal, apiClient }, gate)));

  context.signal.addEventListener('abort', () => gate.open('to stop'));
  try {
    for (let killed = 0; killed < kills; ) {
      await waitUnderLoad(journal, context.signal);
      const { times = 1, readyAfter, api } = await kill(journal);
      killed += times;
      ready.push(readyAfter);
      await gate.close();
      // With several nodes, this queries the restarted one.
      assert.deepEqual(await findBroken(api ? createApiClient(() => api) : apiClient, journal), [], `after ${killed}`);
      assert.deepEqual(await examine(), [], `after ${killed}`);
      gate.open();
      progress(Math.min(killed, kills));
    }
  } finally {
    gate.open('to stop');
  }
  await Promise.all(load);

  assert.deepEqual(await findBroken(apiClient, journal, 'all'), []);
  assert.deepEqual(await findForks(apiClient, journal), []);
  assert.deepEqual(await findTorn(url), []);
  return { ...report(context, journal, { kills, ready }), journal };
}

/** Waits for some more responses, and a random time. */
async function waitUnderLoad({ entries, wrong }: Journal, signal: AbortSignal): Promise<void> {
  const minimum = entries.length + randomInt(4, 40);
  while (entries.length < minimum && wrong.length === 0) await setTimeout(5, undefined, { signal });
  await setTimeout(randomInt(30));
}

function report(context: TestContext, journal: Journal, { kills, ready }: { kills: number; ready: number[] }) {
  const { median, p95, worst } = summarise(ready);
  const ended = journal.histories.filter(({ endedBy }) => endedBy !== undefined && endedBy !== 'replay').length;
  const responses = `${journal.entries.length} responses, ${journal.histories.length} grants of which ${ended} were ended`;
  context.diagnostic(
    `${kills} kills, ${responses}; ready again after ${median} ms (95 of 100 within ${p95} ms, worst ${worst} ms)`,
  );
  return { median, worst };
}
