import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Engine } from './databases.ts';
import type { Seed } from './seed.ts';

export interface EmptyDatabase {
  url: string;
  grants: number;
}

/** With users, businesses and apps in proportion to the grants. */
export interface FilledDatabase extends EmptyDatabase {
  seeded: Seed;
}

/**
 * Fills a database of each size on every engine in worker threads, while `work` runs. Returns the databases by the name of
 * the engine.
 */
export async function fillInBackground(
  engines: Engine[],
  sizes: number[],
  work: () => Promise<void>,
): Promise<Map<string, FilledDatabase[]>> {
  const threads = new Map<string, Worker>();
  for (const { name, newUrl } of engines) {
    const empty: EmptyDatabase[] = [];
    for (const grants of sizes) empty.push({ url: await newUrl(), grants });
    threads.set(name, new Worker(new URL('./fill-thread.ts', import.meta.url), { workerData: empty }));
  }
  const filled = [...threads].map(async ([name, thread]): Promise<[string, FilledDatabase[]]> => {
    const [grown] = await once(thread, 'message');
    return [name, grown];
  });
  try {
    const [all] = await Promise.all([Promise.all(filled), work()]);
    return new Map(all);
  } finally {
    for (const thread of threads.values()) await thread.terminate();
  }
}
