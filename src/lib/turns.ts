/** What stands before the request at hand. */
interface Ahead {
  /** How many came with it and were before it. */
  count: number;
  /** How long it has waited for them, in milliseconds. */
  waited: number;
}

/**
 * Node takes everything that has arrived, answers it one after the other, and only then looks again: the time since the
 * first of them is what the one at hand has waited at least. Once all are done the count begins anew, so that however much
 * is turned away, work goes on.
 */
export function newTurns(clock: () => number): () => Ahead {
  let began: number | undefined;
  let count = 0;
  return () => {
    if (began === undefined) {
      began = clock();
      count = 0;
      setImmediate(() => {
        began = undefined;
      });
    }
    return { count: count++, waited: clock() - began };
  };
}
