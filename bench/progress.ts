/** Prints the current step and the remaining time; on a terminal, in one line. */
export interface Progress {
  /** Adds to the planned time. */
  plan(seconds: number): void;
  /** Starts a step, which takes that many of the planned seconds. */
  step(what: string, seconds: number): void;
  /** Clears the line. */
  clear(): void;
}

export function createProgress(): Progress {
  const began = performance.now();
  const isTerminal = process.stderr.isTTY;
  let [planned, done, lastPrinted] = [0, 0, 0];
  return {
    plan(seconds) {
      planned += seconds;
    },
    step(what, seconds) {
      const spent = (performance.now() - began) / 1000;
      // Preparation is not planned for, so the remaining time is scaled by the time used so far.
      const slowness = done > 5 ? Math.max(1, spent / done) : 1.6;
      const left = Math.round((planned - done) * slowness);
      done += seconds;
      const line = `${what} · about ${left >= 90 ? `${Math.round(left / 60)} min` : `${left} s`} left`;
      if (isTerminal) process.stderr.write(`\r\u001b[2K${line}`);
      else if (spent - lastPrinted > 5 || lastPrinted === 0) {
        process.stderr.write(`${line}\n`);
        lastPrinted = spent;
      }
    },
    clear() {
      if (isTerminal) process.stderr.write('\r\u001b[2K');
    },
  };
}
