import { closestMatch } from 'leven';
import { readSettings } from './settings.ts';
import type { Environment } from './values.ts';

/** Variables that are no settings but resemble one, with that setting. */
export function findMisspelled(env: Environment): { name: string; setting: string }[] {
  const settings = listSettingNames();
  return Object.keys(env).flatMap((name) => {
    if (!env[name] || settings.includes(name)) return [];
    const stem = name.toUpperCase().replace(/^GATEHOUSE_|_FILE$/g, '');
    // Every fourth letter: PATH or MAIL resemble nothing, and BASE_URI is close to BASE_URL.
    const setting = closestMatch(stem, settings, { maxDistance: Math.floor(stem.length / 4) });
    return setting ? [{ name, setting }] : [];
  });
}

/** The variables that `readSettings` reads. */
export function listSettingNames(): string[] {
  const names = new Set<string>();
  const recording = new Proxy<Environment>(
    {},
    {
      get(_, name) {
        names.add(String(name));
        return name === 'SECRET_KEYS' ? 'a-key-in-place-of-one-that-may-be-missing' : undefined;
      },
    },
  );
  readSettings(recording);
  return [...names];
}
