import { readdirSync } from 'node:fs';

/** The names of all schema changes, in order: each is a file. */
export function listChanges(): string[] {
  const files = readdirSync(new URL('../../src/storage/migrations', import.meta.url));
  return files
    .filter((file) => /^\d{3}-/.test(file))
    .map((file) => file.replace('.ts', ''))
    .sort();
}
