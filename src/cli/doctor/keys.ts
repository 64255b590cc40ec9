import { existsSync, statSync } from 'node:fs';
import { type KeySource, LOCAL_KEY_FILE } from '../../config/keys.ts';
import { countSecretsByKey } from '../../keys.ts';
import { isWeakKey } from '../../lib/keyring.ts';
import { hasKnownKeys, rejectUnknownKey } from '../../storage/known-keys.ts';
import { type Database, StorageError } from '../../storage/storage.ts';
import { idOf } from '../keys.ts';
import { type Finding, findingsAbout } from './finding.ts';

const { ok, warning, problem } = findingsAbout('keys');

const MAX_KEYS = 3;

export function checkKeys({ keys, file }: KeySource): Finding[] {
  if (keys.length === 0) return [warning('There is no key yet.', `The first start creates ${LOCAL_KEY_FILE}.`)];
  const findings: Finding[] = [];
  if (keys.some(isWeakKey)) {
    findings.push(warning('A key does not look random.', 'Replace it with a random one: gatehouse keys rotate'));
  }
  if (new Set(keys).size < keys.length) findings.push(warning('A key is listed twice.', 'Remove one of the two.'));
  if (keys.length > MAX_KEYS) {
    const fix = 'Remove keys that have signed nothing for 30 days: gatehouse keys prune';
    findings.push(warning(`There are ${keys.length} keys.`, fix));
  }
  // Kubernetes mounts a Secret for a group, of which the server is the only member.
  if (file && existsSync(file) && (statSync(file).mode & 0o037) !== 0) {
    const fix = `Run: chmod 600 ${file}. Then replace its keys: gatehouse keys rotate`;
    findings.push(problem(`Other users of this machine can read ${file}.`, fix));
  }
  if (findings.length > 0) return findings;
  return [ok(keys.length === 1 ? 'There is one key.' : `There are ${keys.length} keys.`)];
}

/** The keys that the servers of this database use, and those of its stored secrets. */
export async function checkKnownKeys(db: Database, keys: string[]): Promise<Finding[]> {
  if (keys.length === 0) {
    if (!(await hasKnownKeys(db))) return [];
    return [
      problem('There is no key, but the database has been used with one.', 'Set SECRET_KEYS or SECRET_KEYS_FILE.'),
    ];
  }
  try {
    await rejectUnknownKey(db, keys.map(idOf));
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const [message = '', ...fix] = error.message.split(/(?<=\.) /);
    return [problem(message, fix.join(' '))];
  }
  return checkStoredSecrets(db, keys);
}

/** Secrets that were encrypted with a removed key cannot be decrypted. */
async function checkStoredSecrets(db: Database, keys: string[]): Promise<Finding[]> {
  const [first, ...others] = keys.map(idOf);
  const { endpoints, authenticators } = await countSecretsByKey(db);
  const describe = (isIncluded: (id: string) => boolean) =>
    [
      countSecrets(sum(endpoints, isIncluded), 'webhook endpoint', 'webhook endpoints'),
      countSecrets(sum(authenticators, isIncluded), 'authenticator app', 'authenticator apps'),
    ].filter((text) => text !== undefined);
  const lost = describe((id) => id !== first && !others.includes(id)).map((text) => {
    const fix =
      'Add the key again as the last one; or replace the secrets of endpoints with gatehouse endpoint replace-secret, and remove authenticator apps with gatehouse user remove-second-factor';
    return problem(`${text} encrypted with a key that was removed.`, fix);
  });
  const outdated = describe((id) => others.includes(id)).map((text) => {
    const fix = 'Before you remove an old key, run: gatehouse keys reencrypt';
    return warning(`${text} encrypted with an old key.`, fix);
  });
  return [...lost, ...outdated];
}

function sum(counts: Map<string, number>, isIncluded: (id: string) => boolean): number {
  return [...counts].filter(([id]) => isIncluded(id)).reduce((total, [, count]) => total + count, 0);
}

function countSecrets(count: number, singular: string, plural: string): string | undefined {
  if (count === 0) return undefined;
  return count === 1 ? `The secret of 1 ${singular} is` : `The secrets of ${count} ${plural} are`;
}
