import type { TestServer } from '../../support/test-server.ts';

/**
 * Starts each of these while the database is locked, and then releases the lock: from then on
 * their statements alternate in this order.
 */
export async function runInSequence<Result>(
  server: TestServer,
  ...works: (() => Promise<Result>)[]
): Promise<Result[]> {
  const begun: Promise<Result>[] = [];
  await server.storage().transaction(async () => {
    for (const work of works) {
      begun.push(work());
      await passTime(server);
    }
  });
  return Promise.all(begun);
}

/** Long enough for earlier requests to have arrived: this response needs no database. */
async function passTime({ api }: TestServer): Promise<void> {
  for (let i = 0; i < 3; i += 1) await (await fetch(`${api}/healthz`)).text();
}

/** Repeats a race until it has the wanted outcome. */
export async function retryUntilFound<Found>(attempt: () => Promise<Found | undefined>): Promise<Found> {
  for (let i = 0; i < 50; i += 1) {
    const found = await attempt();
    if (found !== undefined) return found;
  }
  throw new Error('it did not happen in 50 attempts');
}
