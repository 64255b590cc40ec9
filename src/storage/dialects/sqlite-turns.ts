import { SECOND, systemClock } from '../../lib/clock.ts';
import type { Connection } from './sqlite-connection.ts';

/** How a writer gets the file to itself. */
export type Begin = (connection: Connection) => void;

/** How long a writer waits for another process (the command line, a backup, another worker) to finish. */
export const BUSY_MS = 5 * SECOND;

/** So soon it asks again. */
const ASKS_EVERY_MS = 2;

/** SQLite's own code for it. */
const BUSY = 5;

/** IMMEDIATE: whoever reads first and writes later could otherwise lose the race for the write lock. */
export const begin: Begin = ({ run }) => run('begin immediate');

/**
 * The same among several processes that write all the time. SQLite asks less and less often the longer it waits, up to
 * every tenth of a second, and whoever has just come overtakes it; asking at one pace, everyone is lucky soon.
 */
export const beginInTurn: Begin = (connection) => {
  const { file } = connection;
  const until = systemClock() + BUSY_MS;
  file.exec(`pragma busy_timeout = ${ASKS_EVERY_MS}`);
  try {
    while (!isBegun(connection, until)) {}
  } finally {
    file.exec(`pragma busy_timeout = ${BUSY_MS}`);
  }
};

function isBegun(connection: Connection, until: number): boolean {
  try {
    begin(connection);
    return true;
  } catch (error) {
    const isBusy = error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === BUSY;
    if (isBusy && systemClock() < until) return false;
    throw error;
  }
}
