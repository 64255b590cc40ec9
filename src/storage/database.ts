import { openPostgres } from './dialects/postgres.ts';
import { openSqlite } from './dialects/sqlite.ts';
import { StorageRefused } from './errors.ts';
import { newTableCounter } from './rate-limits.ts';
import type { Haste, Storage } from './storage.ts';

export function openStorage(url: string, haste: Haste = 'serving'): Storage {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length));
  if (/^postgres(ql)?:/.test(url)) return openPostgres(url, haste);
  throw new StorageRefused(`DATABASE_URL must start with sqlite: or postgres: (it starts with ${url.split(':')[0]}).`);
}

/** For several processes of one machine: what each would otherwise count by itself, they count together. */
export function openSharedStorage(url: string): Storage {
  const storage = openStorage(url);
  return { newSharedCounter: (limit) => newTableCounter(storage.recoverable, limit), ...storage };
}
