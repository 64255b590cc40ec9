import { existsSync, statSync } from 'node:fs';
import { type Action, OPERATOR, recordAudit } from '../audit/entries.ts';
import { type KeySource, readSecretKeys } from '../config.ts';
import { REFRESH_LIFETIME } from '../grants/grants.ts';
import { DAY, systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { createKeyring, replaceKeyFile, writeKeyFile } from '../lib/keyring.ts';
import { newSecret } from '../lib/secrets.ts';
import type { Database, Storage } from '../storage/storage.ts';
import { countSecretsByKey, reencryptSecrets } from '../webhooks/reencryption.ts';
import { type Command, type Options, withStorage } from './command.ts';

const TO = { value: 'FILE', help: 'Write the keys to this new file, and leave those in use as they are' };

export const keyCommands: Command[] = [
  {
    name: 'keys list',
    summary: 'List the keys by their ids, and how many webhook secrets each keeps',
    options: {},
    run: (_, env) => withStorage(env, ({ durable }) => describeKeys(durable, readSecretKeys(env))),
  },
  {
    name: 'keys add',
    summary: 'Add a key that verifies and does not sign yet: the first step where several nodes share the keys',
    options: { to: TO },
    run: (options, env) =>
      withStorage(env, async (storage) => {
        const source = readSecretKeys(env);
        const added = newSecret();
        const next = 'Bring the file to every node and restart each. Then: keys rotate --use ID';
        await keep(storage, { action: 'key.added', id: idOf(added), source, to: options.text('to') }, [
          ...source.keys,
          added,
        ]);
        return { added: idOf(added), file: options.text('to') || source.file, next };
      }),
  },
  {
    name: 'keys rotate',
    summary: 'Put a new key in front of the others: it signs from the next restart on, and the old ones still verify',
    options: { use: { value: 'ID', help: 'Put this key in front, which is known already' }, to: TO },
    run: (options, env) => withStorage(env, (storage) => rotate(storage, readSecretKeys(env), options)),
  },
  {
    name: 'keys reseal',
    summary: 'Conceal the webhook secrets with the first key, so that the others can go',
    options: {},
    run: (_, env) => withStorage(env, (storage) => reseal(storage, readSecretKeys(env))),
  },
  {
    name: 'keys prune',
    summary: 'Remove all keys but the first, once nothing needs them any more',
    options: {
      keep: { value: 'N', help: 'How many stay; 1 if left out' },
      'end-tokens': { help: 'Now, though every token that they have signed ends by it' },
      to: TO,
    },
    run: (options, env) => withStorage(env, (storage) => prune(storage, readSecretKeys(env), options)),
  },
];

async function rotate(storage: Storage, source: KeySource, options: Options) {
  const front = options.text('use') ? findKey(source.keys, options.text('use')) : newSecret();
  const keys = [front, ...source.keys.filter((key) => key !== front)];
  await keep(storage, { action: 'key.rotated', id: idOf(front), source, to: options.text('to') }, keys);
  const until = new Date(systemClock() + REFRESH_LIFETIME).toISOString().slice(0, 10);
  return {
    signs: idOf(front),
    verifies: keys.slice(1).map(idOf),
    file: options.text('to') || source.file,
    next: `Restart the server. Then: keys reseal. From ${until} on nothing is signed with the old keys any more: keys prune`,
  };
}

/** Only when every node knows the first key: what is concealed with it, a node that does not know it cannot use. */
async function reseal(storage: Storage, { keys }: KeySource) {
  const { resealed, lost } = await storage.transaction(async (db) => {
    const done = await reencryptSecrets(db, createKeyring(keys));
    if (done.resealed > 0)
      await record(db, { action: 'key.resealed', id: idOf(keys[0] ?? ''), endpoints: done.resealed });
    return done;
  });
  const next =
    lost.length > 0 ? 'The keys of the lost ones are gone. Replace their secrets: endpoint replace-secret' : undefined;
  return { resealed, lost, ...(next && { next }) };
}

async function prune(storage: Storage, source: KeySource, options: Options) {
  const kept = source.keys.slice(0, readCount(options.text('keep')));
  const gone = source.keys.slice(kept.length).map(idOf);
  if (gone.length === 0) return { removed: [], file: source.file };
  if (!options.flag('end-tokens')) refuseTooEarly(source);
  const secrets = await countSecretsByKey(storage.durable);
  if (gone.some((id) => secrets.has(id))) {
    throw new FormError('keep', 'Webhook secrets are still kept with a key that would go. First: keys reseal');
  }
  await keep(storage, { action: 'key.removed', id: gone.join(' '), source, to: options.text('to') }, kept);
  return { removed: gone, file: options.text('to') || source.file, next: 'Restart the server.' };
}

/** What the file was last changed for may have been a rotation; a refresh token that was signed before lives so long. */
function refuseTooEarly({ file }: KeySource): void {
  if (file === undefined) return;
  const age = systemClock() - statSync(file).mtimeMs;
  if (age >= REFRESH_LIFETIME) return;
  const days = Math.ceil((REFRESH_LIFETIME - age) / DAY);
  throw new FormError(
    'end-tokens',
    `The keys were changed less than 30 days ago, so tokens may need the old ones. Wait ${days} more days, or end these tokens with --end-tokens.`,
  );
}

interface Keeping {
  action: Extract<Action, `key.${string}`>;
  id: string;
  source: KeySource;
  to: string;
}

/** The act is recorded first and counts only if the file could be written. */
async function keep(storage: Storage, { action, id, source: { file }, to }: Keeping, keys: string[]): Promise<void> {
  if (to === '' && file === undefined) {
    throw new FormError(
      'to',
      'The keys stand in SECRET_KEYS, which only you can change. Name a new file; then set SECRET_KEYS_FILE to it and unset SECRET_KEYS.',
    );
  }
  if (to !== '' && existsSync(to)) throw new FormError('to', `There is a file ${to} already.`);
  await storage.transaction(async (db) => {
    await record(db, { action, id });
    try {
      if (to !== '') writeKeyFile(to, keys);
      else replaceKeyFile(file ?? '', keys);
    } catch (error) {
      throw new FormError('to', `The keys cannot be written to ${to || file}: ${error}. Name another file.`);
    }
  });
}

async function record(
  db: Database,
  { action, id, endpoints }: { action: Keeping['action']; id: string; endpoints?: number },
): Promise<void> {
  const detail: Record<string, string> = endpoints === undefined ? {} : { endpoints: String(endpoints) };
  const act = { action, actor: OPERATOR, businessId: null, subject: { kind: 'key' as const, id, name: id }, detail };
  await recordAudit(db, act, systemClock());
}

async function describeKeys(db: Database, { keys, file }: KeySource) {
  const secrets = await countSecretsByKey(db);
  const known = keys.map((key, place) => ({
    id: idOf(key),
    does: place === 0 ? 'signs and verifies' : 'verifies',
    webhook_secrets: secrets.get(idOf(key)) ?? 0,
  }));
  const gone = [...secrets].filter(([id]) => !known.some((key) => key.id === id));
  const lost = gone.map(([id, count]) => ({ id, does: 'is gone', webhook_secrets: count }));
  return { file: file ?? 'SECRET_KEYS', keys: [...known, ...lost] };
}

function findKey(keys: string[], id: string): string {
  const found = keys.find((key) => idOf(key) === id);
  if (found === undefined) throw new FormError('use', 'There is no such key. See: keys list');
  return found;
}

function readCount(text: string): number {
  if (text === '') return 1;
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new FormError('keep', 'This must be a whole number from 1 on.');
  return Number(text);
}

/** Names a key without telling anything about it. */
export function idOf(key: string): string {
  return createKeyring([key]).signing.id.toString('hex');
}
