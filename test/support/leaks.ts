import type { ChildProcess } from 'node:child_process';
import { appendFileSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { createSecretSearch } from './secret-search.ts';

/**
 * In a full run, every secret of every test is recorded, and everything that must not contain secrets is searched
 * for all of them. Responses are searched at once, which fails the test; the logs are searched after the run.
 */
const FOLDER = process.env.TEST_LEAKS;

const search = createSecretSearch();
/** A shorter text could occur anywhere by chance. */
const MIN_LENGTH = 12;

export const isScanning = FOLDER !== undefined;

export function rememberSecret(kind: string, text: string | null | undefined): void {
  if (!FOLDER || !text || text.length < MIN_LENGTH) return;
  const known = search.size;
  search.add({ kind, text });
  if (search.size > known)
    appendFileSync(join(FOLDER, `secrets-${process.pid}.jsonl`), `${JSON.stringify({ kind, text })}\n`);
}

/** Throws if the content contains a secret, except for the kinds in `issuedKinds`, which are issued here. */
export function assertNoSecrets(
  source: string,
  content: string | Uint8Array,
  issuedKinds: readonly string[] = [],
): void {
  const leak = recordLeak(source, content, issuedKinds);
  if (leak) throw new Error(leak);
}

/** Like `assertNoSecrets`, but records the leak, which fails the run at its end. Clean-up code must not throw. */
export function recordLeak(
  source: string,
  content: string | Uint8Array,
  issuedKinds: readonly string[] = [],
): string | undefined {
  if (!FOLDER) return undefined;
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const [leak] = search.find(bytes).filter(({ kind }) => !issuedKinds.includes(kind));
  if (!leak) return undefined;
  const sentence = `A secret leaks: ${source} contains the ${leak.kind}, ${leak.form}: ${leak.text.slice(0, 12)}…`;
  appendFileSync(join(FOLDER, `leaks-${process.pid}`), `${sentence}\n`);
  return sentence;
}

/** The log level of servers in child processes. */
export const CHILD_LOG_LEVEL = isScanning ? 'trace' : 'silent';

let children = 0;
const nextLogFile = (folder: string) => join(folder, `log-${process.pid}-${++children}`);

/** The stdout of a child server: a file that is searched after the run. */
export function openChildLog(): number | 'ignore' {
  return FOLDER ? openSync(nextLogFile(FOLDER), 'a') : 'ignore';
}

/** Copies the output of a server, which its test also reads, to such a file. */
export function recordOutput({ stdout, stderr }: ChildProcess): void {
  if (!FOLDER) return;
  const file = nextLogFile(FOLDER);
  for (const stream of [stdout, stderr]) stream?.on('data', (chunk) => appendFileSync(file, chunk));
}
