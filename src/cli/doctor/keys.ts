import { existsSync, statSync } from 'node:fs';
import type { KeySource } from '../../config.ts';
import { isWeakKey } from '../../lib/keyring.ts';
import type { Database } from '../../storage/storage.ts';
import { countSecretsByKey } from '../../webhooks/reencryption.ts';
import { idOf } from '../keys.ts';
import { about, type Finding } from './finding.ts';

const { ok, warning, problem } = about('keys');

const MOST_KEYS = 3;

export function checkKeys({ keys, file }: KeySource): Finding[] {
  const findings: Finding[] = [];
  if (keys.length === 0) return [warning('There is no key yet.', 'The first start makes one in data/secret-key.')];
  if (keys.some(isWeakKey)) {
    findings.push(
      warning('A key looks as if someone had made it up.', 'Replace it with a random one: gatehouse keys rotate'),
    );
  }
  if (new Set(keys).size < keys.length) findings.push(warning('A key stands there twice.', 'Remove one of the two.'));
  if (keys.length > MOST_KEYS) {
    findings.push(
      warning(`There are ${keys.length} keys.`, 'Those that signed nothing for 30 days can go: gatehouse keys prune'),
    );
  }
  if (file && existsSync(file) && (statSync(file).mode & 0o077) !== 0) {
    findings.push(
      problem(
        `Others on this machine can read ${file}.`,
        `Run: chmod 600 ${file}; and replace its keys: gatehouse keys rotate`,
      ),
    );
  }
  if (findings.length === 0)
    findings.push(ok(keys.length === 1 ? 'There is one key.' : `There are ${keys.length} keys.`));
  return findings;
}

/** What a key concealed that is gone, nothing brings back. */
export async function checkStoredSecrets(db: Database, keys: string[]): Promise<Finding[]> {
  const [first, ...others] = keys.map(idOf);
  const counts = await countSecretsByKey(db);
  const sum = (isMeant: (id: string) => boolean) =>
    [...counts].filter(([id]) => isMeant(id)).reduce((total, [, count]) => total + count, 0);
  const lost = sum((id) => id !== first && !others.includes(id));
  const outdated = sum((id) => others.includes(id));
  const findings: Finding[] = [];
  if (lost > 0) {
    const mend =
      'Bring the key back as the last one; or give each endpoint a new secret: gatehouse endpoint replace-secret';
    findings.push(problem(`Secrets of ${lost} webhook endpoints were concealed with a key that is gone.`, mend));
  }
  if (outdated > 0) {
    const mend = 'Before an old key goes: gatehouse keys reseal';
    findings.push(warning(`Secrets of ${outdated} webhook endpoints are concealed with an old key.`, mend));
  }
  return findings;
}
