import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { InvalidSetting } from '../lib/errors.ts';
import { fsyncDirectory, MIN_KEY_LENGTH, splitKeys, writeKeyFile } from '../lib/keyring.ts';
import { newSecret } from '../lib/secrets.ts';
import { type Environment, isPublic, readOrigin, readSettingFile } from './values.ts';

export const LOCAL_KEY_FILE = 'data/secret-key';

/** The file is undefined if the keys are in a variable. */
export interface KeySource {
  keys: string[];
  file: string | undefined;
}

/** Whether no setting has keys, and no start on this machine has created one. */
export function hasNoKeys(env: Environment): boolean {
  return !env.SECRET_KEYS && !env.SECRET_KEYS_FILE && !existsSync(LOCAL_KEY_FILE);
}

/** From SECRET_KEYS, from SECRET_KEYS_FILE, or for development from the file that the first start creates. */
export function readSecretKeys(env: Environment): KeySource {
  const baseUrl = readOrigin(env, 'BASE_URL', 'http://localhost:4000');
  const given = splitKeys(env.SECRET_KEYS ?? '');
  const isGiven = given.some((key) => key !== '');
  if (isGiven && env.SECRET_KEYS_FILE) {
    throw new InvalidSetting('SECRET_KEYS_FILE and SECRET_KEYS are both set. Keep one of them.');
  }
  if (isGiven) return { keys: checkKeys(given, 'SECRET_KEYS'), file: undefined };
  const file = env.SECRET_KEYS_FILE || findLocalKey(baseUrl);
  return { keys: checkKeys(splitKeys(readSettingFile('SECRET_KEYS_FILE', file)), 'SECRET_KEYS_FILE'), file };
}

function checkKeys(keys: string[], setting: string): string[] {
  if (keys.every((key) => key.length >= MIN_KEY_LENGTH)) return keys;
  const what = `one or more keys of at least ${MIN_KEY_LENGTH} characters, separated by commas`;
  throw new InvalidSetting(
    setting === 'SECRET_KEYS' ? `SECRET_KEYS must be ${what}.` : `${setting} must name a file with ${what} or lines.`,
  );
}

function findLocalKey(baseUrl: string): string {
  if (isPublic(baseUrl)) {
    throw new InvalidSetting('SECRET_KEYS must be set when BASE_URL is public. Make one with: openssl rand -base64 32');
  }
  if (existsSync(LOCAL_KEY_FILE)) return LOCAL_KEY_FILE;
  throw new InvalidSetting(
    `SECRET_KEYS is not set, and ${LOCAL_KEY_FILE} does not exist in this folder. Set SECRET_KEYS or SECRET_KEYS_FILE as for the server, or run this in its folder.`,
  );
}

/** For development: readable by its owner only. Keeps a file that exists. */
export function createLocalKey(): void {
  try {
    if (mkdirSync(dirname(LOCAL_KEY_FILE), { recursive: true })) fsyncDirectory('.');
    writeKeyFile(LOCAL_KEY_FILE, [newSecret()]);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      throw new InvalidSetting(`SECRET_KEYS is not set, and no key can be written to ${LOCAL_KEY_FILE}: ${error}.`);
    }
  }
}
