import { createProgress } from './progress.ts';

/** The number of concurrent rounds: while one prepares, another races. */
const LANES = 3;

type Play = (round: number) => Promise<void>;

/** Every lane creates its own fixtures, and takes the next round until all are done. */
export async function runRounds(what: string, rounds: number, prepare: (lane: number) => Promise<Play>) {
  const progress = createProgress(what, rounds);
  let begun = 0;
  let played = 0;
  const run = async (lane: number) => {
    const play = await prepare(lane);
    while (begun < rounds) {
      await play(++begun);
      progress(++played);
    }
  };
  const stop = (error: unknown) => {
    begun = rounds;
    throw error;
  };
  await Promise.all(Array.from({ length: Math.min(LANES, rounds) }, (_, lane) => run(lane).catch(stop)));
}
