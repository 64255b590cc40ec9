import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Engine } from './databases.ts';
import type { Seed } from './seed.ts';

export interface Unfilled {
  url: string;
  grants: number;
}

/** A database with so many grants in it, of people, businesses and apps in proportion. */
export interface Grown extends Unfilled {
  seeded: Seed;
}

/**
 * Fills a database of each size on every engine, all engines at once, while something else is done that is not timed.
 * Told apart by the names of the engines.
 */
export async function fillMeanwhile(
  engines: Engine[],
  sizes: number[],
  work: () => Promise<void>,
): Promise<Map<string, Grown[]>> {
  const threads = new Map<string, Worker>();
  for (const { name, newUrl } of engines) {
    const unfilled: Unfilled[] = [];
    for (const grants of sizes) unfilled.push({ url: await newUrl(), grants });
    threads.set(name, new Worker(new URL('./fill-thread.ts', import.meta.url), { workerData: unfilled }));
  }
  const filled = [...threads].map(async ([name, thread]): Promise<[string, Grown[]]> => {
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
