import type { ChildProcess } from 'node:child_process';
import { appendFileSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { createSecretSearch } from './secret-search.ts';

/**
 * In a run of everything, each secret that a test comes to know is remembered, and whatever must not hold one is searched
 * for all of them. What is searched on the spot fails the very test that has met it; the logs are searched after the run.
 */
const FOLDER = process.env.TEST_LEAKS;

const search = createSecretSearch();
/** Shorter than this, a text may stand anywhere by chance. */
const MIN_LENGTH = 12;

export const isScanning = FOLDER !== undefined;

export function rememberSecret(kind: string, text: string | null | undefined): void {
  if (!FOLDER || !text || text.length < MIN_LENGTH) return;
  const known = search.size;
  search.add({ kind, text });
  if (search.size > known)
    appendFileSync(join(FOLDER, `secrets-${process.pid}.jsonl`), `${JSON.stringify({ kind, text })}\n`);
}

/** Fails if a secret stands here that has no business to; `handsOut` are the kinds that this place is there to give. */
export function assertNoSecrets(place: string, content: string | Uint8Array, handsOut: readonly string[] = []): void {
  const leak = recordLeak(place, content, handsOut);
  if (leak) throw new Error(leak);
}

/** The same where a failure would keep others from cleaning up after themselves: the run fails at its end. */
export function recordLeak(
  place: string,
  content: string | Uint8Array,
  handsOut: readonly string[] = [],
): string | undefined {
  if (!FOLDER) return undefined;
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const [leak] = search.find(bytes).filter(({ kind }) => !handsOut.includes(kind));
  if (!leak) return undefined;
  const sentence = `A secret leaks: ${place} holds the ${leak.kind}, ${leak.form}: ${leak.text.slice(0, 12)}…`;
  appendFileSync(join(FOLDER, `leaks-${process.pid}`), `${sentence}\n`);
  return sentence;
}

/** How much a server logs that a test starts as a process of its own. */
export const CHILD_LOG_LEVEL = isScanning ? 'trace' : 'silent';

let children = 0;
const nextLogFile = (folder: string) => join(folder, `log-${process.pid}-${++children}`);

/** Where such a server is to write what nobody reads while the test runs: to a file that is searched afterwards. */
export function openChildLog(): number | 'ignore' {
  return FOLDER ? openSync(nextLogFile(FOLDER), 'a') : 'ignore';
}

/** The same for a server whose output the test reads itself. */
export function recordOutput({ stdout, stderr }: ChildProcess): void {
  if (!FOLDER) return;
  const file = nextLogFile(FOLDER);
  for (const stream of [stdout, stderr]) stream?.on('data', (chunk) => appendFileSync(file, chunk));
}
