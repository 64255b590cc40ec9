import cluster from 'node:cluster';
import { createLocalKey, hasNoKeys } from '../config/keys.ts';
import { findMisspelled } from '../config/misspelled.ts';
import { readSettings, type Settings } from '../config/settings.ts';
import { isPublic, readOrigin } from '../config/values.ts';
import { InvalidSetting } from '../lib/errors.ts';
import { newSecret } from '../lib/secrets.ts';
import { hasKnownKeys } from '../storage/known-keys.ts';
import type { Database } from '../storage/storage.ts';
import { withCreatedStorage } from './command.ts';

/** The settings of a server. Creates the key of a development machine, if its database is empty. */
export async function readServerSettings(env: NodeJS.ProcessEnv): Promise<Settings> {
  // A worker process has the variables of the primary process.
  if (cluster.isPrimary) {
    for (const { name, setting } of findMisspelled(env)) {
      console.error(`Warning: ${name} is not a setting. Did you mean ${setting}?`);
    }
  }
  const isDevelopment = !isPublic(readOrigin(env, 'BASE_URL', 'http://localhost:4000'));
  if (isDevelopment && hasNoKeys(env)) {
    // Rejects the other settings before anything is created.
    readSettings({ ...env, SECRET_KEYS: newSecret() });
    await withCreatedStorage(env, ({ durable }) => rejectUsed(durable));
    createLocalKey();
  }
  return readSettings(env);
}

async function rejectUsed(db: Database): Promise<void> {
  const user = await db.selectFrom('users').select('id').limit(1).executeTakeFirst();
  if (!user && !(await hasKnownKeys(db))) return;
  throw new InvalidSetting(
    'SECRET_KEYS is not set, and the database of DATABASE_URL has data, so that no key is created. Set SECRET_KEYS or SECRET_KEYS_FILE to the keys of its servers. If it never had a server, make one with: openssl rand -base64 32',
  );
}
