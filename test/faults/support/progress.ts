/** `npm run faults` sets all four. */
export const ROUNDS = Number(process.env.TEST_ROUNDS ?? 15);
/** Of each job, at which a node is killed. */
export const POINTS = Number(process.env.TEST_JOB_POINTS ?? 3);
const KILLS = Number(process.env.TEST_FAULT_KILLS ?? 20);
const PROMISED = process.env.TEST_READY_WITHIN;

/** The number of kills for one target, as a percentage of all. */
export const shareOfKills = (inHundred: number) => Math.ceil((KILLS * inHundred) / 100);

/** Long enough for a busy machine. */
export const timeFor = (kills: number) => 300_000 + kills * 20_000;

/** The maximum for the median of all restarts. Only checked if nothing else runs. */
export const READY_WITHIN = Number(PROMISED ?? Number.POSITIVE_INFINITY);

/** All lanes run in parallel; fewer if restart times are checked, so that two cores are enough. */
export const concurrency = (p95: number) => ({ concurrency: PROMISED ? p95 : true });

const PRINT_INTERVAL = 10_000;

/** Prints the progress and the remaining time in `npm run faults`. */
export function createProgress(what: string, of: number): (done: number) => void {
  const began = performance.now();
  let printedAt = began;
  return (done) => {
    const now = performance.now();
    if (!PROMISED || (now - printedAt < PRINT_INTERVAL && done < of)) return;
    printedAt = now;
    const [taken, left] = [now - began, ((now - began) / done) * (of - done)].map((ms) => Math.round(ms / 1000));
    console.log(`${what}: ${done} of ${of}, ${done < of ? `about ${left} s left` : `in ${taken} s`}`);
  };
}

/** The median, the 95th percentile and the maximum. */
export function summarise(times: number[]) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
  return { median: at(0.5), p95: at(0.95), worst: Math.round(sorted.at(-1) ?? 0) };
}
