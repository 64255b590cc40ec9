/** `npm run faults` sets all three. */
export const ROUNDS = Number(process.env.TEST_ROUNDS ?? 15);
const KILLS = Number(process.env.TEST_FAULT_KILLS ?? 20);
const PROMISED = process.env.TEST_READY_WITHIN;

/** The kills are shared out among what can be killed: so many in a hundred of them all. */
export const shareOfKills = (inHundred: number) => Math.ceil((KILLS * inHundred) / 100);

/** For a machine with a lot of other things to do. */
export const timeFor = (kills: number) => 300_000 + kills * 20_000;

/** Half of all restarts have to be quicker. Only measured where nothing else runs. */
export const READY_WITHIN = Number(PROMISED ?? Number.POSITIVE_INFINITY);

/** All side by side, unless it counts how soon each is ready: then so many, whose starts leave each other room on two cores. */
export const concurrency = (most: number) => ({ concurrency: PROMISED ? most : true });

const SAY_EVERY = 10_000;

/** Says now and then, in `npm run faults`, how far it has come and how long it may still take. */
export function createProgress(what: string, of: number): (done: number) => void {
  const began = performance.now();
  let saidAt = began;
  return (done) => {
    const now = performance.now();
    if (!PROMISED || (now - saidAt < SAY_EVERY && done < of)) return;
    saidAt = now;
    const [taken, left] = [now - began, ((now - began) / done) * (of - done)].map((ms) => Math.round(ms / 1000));
    console.log(`${what}: ${done} of ${of}, ${done < of ? `about ${left} s left` : `in ${taken} s`}`);
  };
}

/** The middle one, the one that nineteen of twenty stay below, and the worst. */
export function summarise(times: number[]) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
  return { median: at(0.5), most: at(0.95), worst: Math.round(sorted.at(-1) ?? 0) };
}
