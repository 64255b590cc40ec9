import { readdirSync } from 'node:fs';

/** The names of all migrations, in order. Each migration is a file. */
export function listMigrations(): string[] {
  const files = readdirSync(new URL('../../src/storage/migrations', import.meta.url));
  return files
    .filter((file) => /^\d{3}-/.test(file))
    .map((file) => file.replace('.ts', ''))
    .sort();
}
