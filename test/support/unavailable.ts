import { randomInt } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { StorageUnavailable } from '../../src/storage/storage.ts';

/** A response, and how many requests got a 503 before it. Such a request may have changed something. */
export type Repeated<Response> = Response & { repeats: number };

/** Repeats a request that gets a 503, as apps do: the machine is busy, or a row was locked for too long. */
export async function repeatUnavailable<Response extends { status: number }>(
  send: () => Promise<Response>,
  repeats = 0,
): Promise<Repeated<Response>> {
  const response = await send();
  if (response.status !== 503) return { ...response, repeats };
  await setTimeout(randomInt(300));
  return repeatUnavailable(send, repeats + 1);
}

/** The number of requests that got a 503. */
export const countUnavailable = (responses: Repeated<unknown>[]): number =>
  responses.reduce((sum, { repeats }) => sum + repeats, 0);

/**
 * Whether one exchange of a code has succeeded. If it got a 503 although it was committed, its repetition is a reuse of
 * the code, and none has succeeded.
 */
export function hasOneWinner(responses: Repeated<{ status: number }>[]): boolean {
  const wins = responses.filter(({ status }) => status === 200).length;
  return wins === 1 || (wins === 0 && countUnavailable(responses) > 0);
}

const DEADLOCK = '40P01';

/** Repeats what would be a 503 on a busy machine. A deadlock is an error on any machine. */
export async function repeatChange<Result>(change: () => Promise<Result>, tries = 20): Promise<Result> {
  return change().catch((error) => {
    const isDeadlock = error.cause instanceof pg.DatabaseError && error.cause.code === DEADLOCK;
    if (!(error instanceof StorageUnavailable) || isDeadlock || tries === 1) throw error;
    return repeatChange(change, tries - 1);
  });
}
