import { ClientGone, TooManyRequests } from './errors.ts';

/** In seconds. */
const RETRY_AFTER = 5;

/** Runs its pieces of work one after another. */
export interface Member {
  /** Waits for its turn. */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
  leave(): void;
}

interface Group {
  members: number;
  waiting: PromiseWithResolvers<void>[];
}

interface Options {
  /** Of one group. Further ones are rejected. */
  maxMembers: number;
  /** What the members are, for the error: `searches of this log`. */
  counted: string;
}

/**
 * Runs one piece of work at a time. Groups take turns: while one piece of a group waits, at most one of each other group runs,
 * however many members that one has. A member leaves when its client is gone.
 */
export function fairQueue({ maxMembers, counted }: Options): (group: string, client?: AbortSignal) => Member {
  /** First the group whose last turn was the longest time ago. */
  const groups = new Map<string, Group>();
  let isRunning = false;

  function startNext(): void {
    const next = groups.values().find(({ waiting }) => waiting.length > 0);
    if (next) next.waiting.shift()?.resolve();
    else isRunning = false;
  }

  function endTurn(name: string, group: Group): void {
    if (groups.get(name) === group) {
      groups.delete(name);
      groups.set(name, group);
    }
    // Not at once: other requests come between two pieces of work.
    setImmediate(startNext);
  }

  function join(name: string): Group {
    const group = groups.get(name) ?? { members: 0, waiting: [] };
    if (group.members >= maxMembers) throw new TooManyRequests(RETRY_AFTER, counted);
    groups.set(name, group);
    group.members += 1;
    return group;
  }

  return (name, client) => {
    const group = join(name);
    let hasLeft = false;
    let turn: PromiseWithResolvers<void> | undefined;

    function leave(): void {
      if (hasLeft) return;
      hasLeft = true;
      group.members -= 1;
      group.waiting = group.waiting.filter((waiting) => waiting !== turn);
      turn?.reject(new ClientGone());
      if (group.members === 0) groups.delete(name);
    }

    async function run<Result>(work: () => Promise<Result>): Promise<Result> {
      if (hasLeft) throw new ClientGone();
      if (isRunning) {
        turn = Promise.withResolvers();
        group.waiting.push(turn);
        await turn.promise;
      }
      isRunning = true;
      try {
        return await work();
      } finally {
        endTurn(name, group);
      }
    }

    if (client?.aborted) leave();
    else client?.addEventListener('abort', leave, { once: true });
    return { run, leave };
  };
}
