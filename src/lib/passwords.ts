import { argon2, randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { sameBytes } from './secrets.ts';
import { semaphore } from './semaphore.ts';

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane. */
const COST = { memory: 19456, passes: 2, parallelism: 1 };

/** The PHC string stores the cost with the hash, so that old hashes still verify after the cost is raised. */
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w-]+)\$([\w-]+)$/;

/** Checked when the user does not exist, so that the response time is the same. */
const DUMMY_HASH = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/**
 * Leaves one core free for requests, and one of the four threads of libuv's pool free for files. A hash takes about 30 ms,
 * so a full queue takes a few seconds.
 */
export const HASHING = { concurrency: Math.min(3, Math.max(1, availableParallelism() - 1)), maxQueue: 100 };

const hashing = semaphore(HASHING);
const hash = promisify(argon2);
const derive: typeof hash = (...given) => hashing(() => hash(...given));

export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const bytes = await derive('argon2id', { ...COST, message: normalize(password), nonce, tagLength: 32 });
  const { memory, passes, parallelism } = COST;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(nonce)}$${encode(bytes)}`;
}

export async function verifyPassword(password: string, stored: string | undefined): Promise<boolean> {
  const [, memory, passes, parallelism, nonce = '', hash = ''] = PHC.exec(stored ?? DUMMY_HASH) ?? [];
  const expected = Buffer.from(hash, 'base64url');
  const actual = await derive('argon2id', {
    message: normalize(password),
    nonce: Buffer.from(nonce, 'base64url'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  });
  return stored !== undefined && sameBytes(actual, expected);
}

/** Imported on first use: the list is large, and not needed at start. */
export async function isCommonPassword(password: string): Promise<boolean> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return dictionary['passwords-common'].includes(password.toLowerCase());
}

/** Some keyboards write é as one character, some as two. NFC makes them the same password. */
function normalize(password: string): string {
  return password.normalize('NFC');
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64url');
}
