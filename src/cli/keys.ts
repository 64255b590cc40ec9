import { existsSync, rmSync, statSync } from 'node:fs';
import { OPERATOR } from '../audit/entries.ts';
import { type KeySource, readSecretKeys } from '../config/keys.ts';
import { REFRESH_LIFETIME } from '../grants/lifetimes.ts';
import { countSecretsByKey, recordKeyChange, reencryptSecrets } from '../keys.ts';
import { DAY, systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { createKeyring, idsOf, moveKeyFile, writeKeyFile } from '../lib/keyring.ts';
import { newSecret } from '../lib/secrets.ts';
import { rejectUnknownKey } from '../storage/known-keys.ts';
import type { Database, Storage } from '../storage/storage.ts';
import { type Command, type Options, withStorage } from './command.ts';

const TO_OPTION = { value: 'FILE', help: 'Write the keys to this new file, and leave the current ones unchanged' };

export const keyCommands: Command[] = [
  {
    name: 'keys list',
    summary: 'List the ids of the keys, and how many stored secrets each encrypts',
    options: {},
    examples: ['--json'],
    run: (_, env) => withStorage(env, ({ durable }) => describeKeys(durable, readSecretKeys(env))),
  },
  {
    name: 'keys add',
    summary: 'Add a key that verifies but does not sign yet: the first step when several nodes share the keys',
    options: { to: TO_OPTION },
    examples: ['--to gatehouse.keys'],
    run: (options, env) => withKnownKey(env, (storage, source) => add(storage, source, options)),
  },
  {
    name: 'keys rotate',
    summary: 'Create a new first key, which signs after the next restart; the old keys still verify',
    options: { use: { value: 'ID', help: 'Make this existing key the first' }, to: TO_OPTION },
    examples: ['--use 7d659559'],
    run: (options, env) => withStorage(env, (storage) => rotate(storage, readSecretKeys(env), options)),
  },
  {
    name: 'keys reencrypt',
    summary: 'Encrypt all stored secrets with the first key, so that the others can be removed',
    options: {},
    run: (_, env) => withKnownKey(env, reencrypt),
  },
  {
    name: 'keys prune',
    summary: 'Remove all keys except the first, once nothing needs them',
    options: {
      keep: { value: 'N', help: 'How many keys to keep (default: 1)' },
      'end-tokens': { help: 'Remove them now; every token that they signed stops working' },
      to: TO_OPTION,
    },
    examples: ['--keep 2'],
    run: (options, env) => withKnownKey(env, (storage, source) => prune(storage, source, options)),
  },
];

/** Rejects a signing key that the servers of the database do not use. */
function withKnownKey<Result>(
  env: NodeJS.ProcessEnv,
  work: (storage: Storage, source: KeySource) => Promise<Result>,
): Promise<Result> {
  return withStorage(env, async (storage) => {
    const source = readSecretKeys(env);
    await rejectUnknownKey(storage.durable, source.keys.map(idOf));
    return work(storage, source);
  });
}

async function add(storage: Storage, source: KeySource, options: Options) {
  const added = newSecret();
  const change = { action: 'key.added' as const, id: idOf(added), source, to: options.text('to') };
  await writeKeys(storage, change, [...source.keys, added]);
  const next = 'Copy the file to every node and restart each. Then run: gatehouse keys rotate --use ID';
  return { added: idOf(added), file: options.text('to') || source.file, next };
}

/** With `--use`, a key that the database does not know is accepted: the operator has named it. */
async function rotate(storage: Storage, source: KeySource, options: Options) {
  if (!options.text('use')) await rejectUnknownKey(storage.durable, source.keys.map(idOf));
  const first = options.text('use') ? findKey(source.keys, options.text('use')) : newSecret();
  const keys = [first, ...source.keys.filter((key) => key !== first)];
  await writeKeys(storage, { action: 'key.rotated', id: idOf(first), source, to: options.text('to') }, keys);
  const until = new Date(systemClock() + REFRESH_LIFETIME).toISOString().slice(0, 10);
  return {
    signs: idOf(first),
    verifies: keys.slice(1).map(idOf),
    file: options.text('to') || source.file,
    next: `Restart the server. Then run: gatehouse keys reencrypt. From ${until} on, when no token needs the old keys, run: gatehouse keys prune`,
  };
}

/** Every node must have the first key: without it, a node cannot decrypt the secrets. */
async function reencrypt(storage: Storage, { keys }: KeySource) {
  const done = await reencryptSecrets(OPERATOR, storage.durable, createKeyring(keys), systemClock());
  const { reencrypted, lostEndpoints, lostAuthenticators } = done;
  const next = [
    ...(lostEndpoints.length > 0
      ? ['To replace the secrets of the lost endpoints, run: gatehouse endpoint replace-secret']
      : []),
    ...(lostAuthenticators.length > 0
      ? ['To remove the authenticator apps of the lost users, run: gatehouse user remove-second-factor']
      : []),
  ];
  return {
    reencrypted,
    lost: lostEndpoints,
    ...(lostAuthenticators.length > 0 && { lost_users: lostAuthenticators }),
    ...(next.length > 0 && { next: `Their keys are missing. ${next.join('. ')}` }),
  };
}

async function prune(storage: Storage, source: KeySource, options: Options) {
  const kept = source.keys.slice(0, readCount(options.text('keep')));
  const removed = source.keys.slice(kept.length).map(idOf);
  if (removed.length === 0) return { removed: [], file: source.file };
  if (!options.flag('end-tokens')) assertOldEnough(source);
  const { endpoints, authenticators } = await countSecretsByKey(storage.durable);
  if (removed.some((id) => endpoints.has(id) || authenticators.has(id))) {
    throw new FormError(
      'keep',
      'Secrets are still encrypted with a key that would be removed. First run: gatehouse keys reencrypt',
    );
  }
  await writeKeys(storage, { action: 'key.removed', id: removed.join(' '), source, to: options.text('to') }, kept);
  return { removed, file: options.text('to') || source.file, next: 'Restart the server.' };
}

/** The last change of the file may have been a rotation; refresh tokens signed before it live for 30 days. */
function assertOldEnough({ file }: KeySource): void {
  if (file === undefined) {
    throw new FormError(
      'end-tokens',
      'SECRET_KEYS does not tell when the keys were changed, and tokens need the old ones for 30 days. If it is longer ago, or if these tokens may end, use --end-tokens.',
    );
  }
  const age = systemClock() - statSync(file).mtimeMs;
  if (age >= REFRESH_LIFETIME) return;
  const days = Math.ceil((REFRESH_LIFETIME - age) / DAY);
  throw new FormError(
    'end-tokens',
    `The keys were changed less than 30 days ago, so tokens may need the old ones. Wait ${days} more days, or use --end-tokens to end these tokens.`,
  );
}

interface KeyChange {
  action: 'key.added' | 'key.rotated' | 'key.removed';
  id: string;
  source: KeySource;
  to: string;
}

async function writeKeys(storage: Storage, change: KeyChange, keys: string[]): Promise<void> {
  const { action, id, source, to } = change;
  const { file } = source;
  const [before, after] = [source.keys.map(idOf), keys.map(idOf)];
  const record = () =>
    recordKeyChange(OPERATOR, storage.durable, { action, id, from: before, to: after }, systemClock());
  if (to === '' && before.join() === after.join()) return record();
  if (to === '' && file === undefined) {
    throw new FormError(
      'to',
      'The keys are in SECRET_KEYS, which only you can change. Give a new file; then set SECRET_KEYS_FILE to it and unset SECRET_KEYS.',
    );
  }
  if (to !== '' && existsSync(to)) throw new FormError('to', `${to} exists already.`);
  const written = to || `${file}.new`;
  if (to === '') rmSync(written, { force: true });
  try {
    writeKeyFile(written, keys);
  } catch (error) {
    throw new FormError('to', `The keys cannot be written to ${to || file}: ${error}. Choose another file.`);
  }
  try {
    await record();
  } catch (error) {
    rmSync(written, { force: true });
    throw error;
  }
  // Last, so that no node reads keys that the database does not know.
  try {
    if (to === '') moveKeyFile(written, file ?? '');
  } catch (error) {
    throw new FormError('to', `The keys are in ${written}, and cannot be moved to ${file}: ${error}. Move them there.`);
  }
}

async function describeKeys(db: Database, { keys, file }: KeySource) {
  const { endpoints, authenticators } = await countSecretsByKey(db);
  const secretsOf = (id: string) => ({
    webhook_secrets: endpoints.get(id) ?? 0,
    authenticator_apps: authenticators.get(id) ?? 0,
  });
  const known = keys.map(idOf).map((id, index) => ({
    id,
    status: index === 0 ? 'signs and verifies' : 'verifies',
    ...secretsOf(id),
  }));
  const missing = [...new Set([...endpoints.keys(), ...authenticators.keys()])].filter(
    (id) => !known.some((key) => key.id === id),
  );
  const lost = missing.map((id) => ({ id, status: 'missing', ...secretsOf(id) }));
  return { file: file ?? 'SECRET_KEYS', keys: [...known, ...lost] };
}

function findKey(keys: string[], id: string): string {
  const found = keys.find((key) => idOf(key) === id);
  if (found === undefined) throw new FormError('use', 'There is no such key. See: gatehouse keys list');
  return found;
}

function readCount(text: string): number {
  if (text === '') return 1;
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new FormError('keep', 'Use a whole number of at least 1.');
  return Number(text);
}

export function idOf(key: string): string {
  return idsOf(createKeyring([key])).join();
}
