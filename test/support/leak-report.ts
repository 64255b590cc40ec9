import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createSecretSearch, type Secret } from './secret-search.ts';

/**
 * After a full run: searches the logs of the servers for the secrets of all tests, and reports them with those
 * found elsewhere. Returns 0 if there are none.
 */
export function reportLeaks(folder: string): number {
  const search = createSecretSearch();
  for (const file of globSync(join(folder, 'secrets-*.jsonl'))) {
    for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) search.add(JSON.parse(line) as Secret);
  }
  const logs = globSync(join(folder, 'log-*')).map((file) => ({ name: basename(file), bytes: readFileSync(file) }));
  const leaks = logs.flatMap(({ name, bytes }) =>
    search
      .find(bytes)
      .map(({ kind, text, form }) => `${name} contains the ${kind}, ${form}: ${textBefore(bytes, text)}`),
  );
  for (const file of globSync(join(folder, 'leaks-*')))
    leaks.push(...readFileSync(file, 'utf8').split('\n').filter(Boolean));
  const size = logs.reduce((sum, { bytes }) => sum + bytes.length, 0);
  console.log(
    `\n${search.size} secrets were searched for in every response, webhook and database, and in ${(size / 1e6).toFixed(1)} MB of logs: ${leaks.length} found.`,
  );
  for (const leak of leaks) console.log(leak);
  return leaks.length > 0 || search.size === 0 || size === 0 ? 1 : 0;
}

/** The text before the secret, if the log contains it literally. */
function textBefore(bytes: Buffer, text: string): string {
  const at = bytes.indexOf(text.replace(/^(?:g[a-z]{2}|whsec)_/, ''));
  return at < 0 ? '' : bytes.toString('utf8', Math.max(0, at - 200), at);
}
