/** One line that says what runs and how long it still takes; on a terminal it is always the same line. */
export interface Progress {
  /** So many more seconds of measuring are planned. */
  plan(seconds: number): void;
  /** What runs now, and for how many of the planned seconds. */
  step(what: string, seconds: number): void;
  /** Ends the line, so that something else can be printed. */
  clear(): void;
}

export function newProgress(): Progress {
  const began = performance.now();
  const isTerminal = process.stderr.isTTY;
  let [planned, done, lastPrinted] = [0, 0, 0];
  return {
    plan(seconds) {
      planned += seconds;
    },
    step(what, seconds) {
      const spent = (performance.now() - began) / 1000;
      // What is made between the spells takes time, too: so far it has taken this much more than was planned.
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
