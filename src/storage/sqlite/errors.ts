import { StorageUnavailable } from '../errors.ts';

/** SQLite's result codes that speak of the disk, the file or another process, and not of the statement. */
const UNAVAILABLE = new Map([
  [5, 'locked by another process'],
  [6, 'locked'],
  [8, 'read-only'],
  [10, 'failing to read or write'],
  [11, 'damaged'],
  [13, 'out of disk space'],
  [14, 'not to be opened'],
  [26, 'not a database'],
]);

/** What stands in the way of the database, as such; anything else as it is. */
export function translate(error: unknown): unknown {
  if (!(error instanceof Error && 'errcode' in error)) return error;
  const trouble = UNAVAILABLE.get(Number(error.errcode) & 0xff);
  return trouble ? new StorageUnavailable(`The database file is ${trouble}.`, { cause: error }) : error;
}
