import { StorageError } from './errors.ts';
import { newTableCounter } from './rate-limits.ts';
import { openSqlite } from './sqlite/dialect.ts';
import type { Storage, TimeoutProfile } from './storage.ts';

const SQLITE = 'sqlite:';

export async function openStorage(url: string, haste: TimeoutProfile = 'serving'): Promise<Storage> {
  if (url.startsWith(SQLITE)) return openSqlite(url.slice(SQLITE.length));
  // Its driver takes a while to load.
  if (/^postgres(ql)?:/.test(url)) return (await import('./postgres/dialect.ts')).openPostgres(url, haste);
  throw new StorageError(`DATABASE_URL must start with sqlite: or postgres: (it starts with ${url.split(':')[0]}).`);
}

/** For several processes of one machine: they write by turns, and what each would count by itself, they count together. */
export async function openSharedStorage(url: string): Promise<Storage> {
  if (!url.startsWith(SQLITE)) return openStorage(url);
  const storage = openSqlite(url.slice(SQLITE.length));
  return { ...storage, newSharedCounter: (limit) => newTableCounter(storage.relaxed, limit) };
}
