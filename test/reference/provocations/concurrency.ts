import type { TestServer } from '../../support/test-server.ts';

/**
 * Starts each of these while nobody can reach the database, and then lets all of them at it at once: from there on
 * they take turns, statement by statement, in this order.
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

/** Long enough for what was sent before to have arrived, since the server answers this without its database. */
async function passTime({ api }: TestServer): Promise<void> {
  for (let i = 0; i < 3; i += 1) await (await fetch(`${api}/healthz`)).text();
}

/** Again and again until it turns out as it can: which of two requests is first is not for a test to decide. */
export async function retryUntilFound<Found>(attempt: () => Promise<Found | undefined>): Promise<Found> {
  for (let i = 0; i < 50; i += 1) {
    const found = await attempt();
    if (found !== undefined) return found;
  }
  throw new Error('it did not happen in 50 attempts');
}
