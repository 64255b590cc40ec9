import { createTableCounter } from './rate-limits.ts';
import { openSqlite } from './sqlite/open.ts';
import { type Storage, StorageError, type TimeoutProfile } from './storage.ts';

const SQLITE = 'sqlite:';

export async function openStorage(url: string, timeouts: TimeoutProfile = 'serving'): Promise<Storage> {
  if (url.startsWith(SQLITE)) return openSqlite(url.slice(SQLITE.length));
  // Loaded only where it is used: the driver delays the start.
  if (/^postgres(ql)?:/.test(url)) return (await import('./postgres/open.ts')).openPostgres(url, timeouts);
  throw new StorageError(`DATABASE_URL must start with sqlite: or postgres: (it starts with ${url.split(':')[0]}).`);
}

/** For several processes of one machine: their rate limits are counted in the database, also on SQLite. */
export async function openSharedStorage(url: string): Promise<Storage> {
  if (!url.startsWith(SQLITE)) return openStorage(url);
  const storage = openSqlite(url.slice(SQLITE.length));
  return { ...storage, createSharedCounter: (limit) => createTableCounter(storage.relaxed, limit) };
}
