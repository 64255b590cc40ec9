import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { deflateRawSync } from 'node:zlib';

export const SHORTEST_KEY = 32;

/** A random key of 32 hexadecimal digits compresses to 29 bytes or more, a repeated character or word to fewer than 24. */
const LEAST_COMPRESSED = 24;

/** Whether a key has so little entropy that it could be guessed. */
export function isGuessable(key: string): boolean {
  return deflateRawSync(key, { level: 9 }).length < LEAST_COMPRESSED;
}

/** Keys stand between commas or line ends. */
export function splitKeys(text: string): string[] {
  return text
    .trim()
    .split(/[,\n]/)
    .map((key) => key.trim());
}

export function readKeyFile(file: string): string[] {
  return splitKeys(readFileSync(file, 'utf8'));
}

/** One to a line, readable by its owner alone. Whoever reads it meanwhile, or after a crash, sees the old or the new. */
export function replaceKeyFile(file: string, keys: readonly string[]): void {
  const draft = `${file}.new`;
  rmSync(draft, { force: true });
  writeKeyFile(draft, keys);
  renameSync(draft, file);
  syncFolder(dirname(file));
}

/** Refuses to write over anything. */
export function writeKeyFile(file: string, keys: readonly string[]): void {
  writeFileSync(file, `${keys.join('\n')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  syncFolder(dirname(file));
}

/** A new name is on disk once its folder is. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
