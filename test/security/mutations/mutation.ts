import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A small change of the product that breaks one promise of the checklist on purpose. */
export interface Mutation {
  /** An id of the checklist. At least one test that carries it as a tag has to fail. */
  promise: string;
  /** What goes wrong with the change applied. */
  breaks: string;
  file: string;
  /** Occurs exactly once in the file. */
  find: string;
  replace: string;
  /** The files whose tests with the tag are run. */
  tests: string[];
  /** On which database they run, where it matters: some races happen on PostgreSQL alone. Otherwise SQLite. */
  database?: 'postgres';
}

/** The file with the mutation applied. Throws if the text to find does not occur exactly once: the mutation is stale. */
export function applyTo(root: string, { promise, breaks, file, find, replace }: Mutation): string {
  const source = readFileSync(join(root, file), 'utf8');
  const count = source.split(find).length - 1;
  if (count !== 1) throw new Error(`Stale: ${promise} "${breaks}": its text occurs ${count} times in ${file}.`);
  return source.replace(find, () => replace);
}
