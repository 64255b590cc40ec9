import type { DatabaseSync } from 'node:sqlite';

/** 128 KB at a time: a few milliseconds, in which nobody else is served. */
const PAGES_AT_ONCE = 32;

/** So much of the file may be free: rows that come and go reuse it, and the file does not shrink and grow all day. */
const SPARE_SHARE = 1 / 4;

/** `auto_vacuum = INCREMENTAL`; a file that was created without it cannot give pages back. */
const INCREMENTAL = 2;

export const RELEASE_PAGES = `PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`;

export function hasPagesToRelease(file: DatabaseSync): boolean {
  const read = (name: string) => Number(Object.values(file.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  return read('auto_vacuum') === INCREMENTAL && read('freelist_count') > read('page_count') * SPARE_SHARE;
}
