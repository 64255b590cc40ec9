import { argon2, randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { sameBytes } from './secrets.ts';
import { newPlaces } from './semaphore.ts';

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane. */
const COST = { memory: 19456, passes: 2, parallelism: 1 };

/** The PHC string keeps the cost beside the hash, so that a later, higher cost leaves old passwords readable. */
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w-]+)\$([\w-]+)$/;

/** Verified in place of a user who does not exist, so that nobody can tell by the time it takes. */
const NOBODY = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/**
 * However many sign in at once, a core is left for everything else, and of the four threads that Node has for such work
 * one is left for files. A hash takes some 30 ms, so whoever waits last waits for a few seconds.
 */
export const PASSWORDS = { atOnce: Math.min(3, Math.max(1, availableParallelism() - 1)), inTurn: 100 };

const places = newPlaces(PASSWORDS);
const hash = promisify(argon2);
const derive: typeof hash = (...given) => places.take(() => hash(...given));

export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const bytes = await derive('argon2id', { ...COST, message: inOneForm(password), nonce, tagLength: 32 });
  const { memory, passes, parallelism } = COST;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(nonce)}$${encode(bytes)}`;
}

export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const [, memory, passes, parallelism, nonce = '', hash = ''] = PHC.exec(stored ?? NOBODY) ?? [];
  const expected = Buffer.from(hash, 'base64url');
  const actual = await derive('argon2id', {
    message: inOneForm(password),
    nonce: Buffer.from(nonce, 'base64url'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  });
  return stored !== undefined && sameBytes(actual, expected);
}

/** Loaded only when someone chooses a password: the list is large, and a start-up does not need it. */
export async function isCommonPassword(password: string): Promise<boolean> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return dictionary['passwords-common'].includes(password.toLowerCase());
}

/** One keyboard writes é as one character, another as two: NFC makes them one password. */
function inOneForm(password: string): string {
  return password.normalize('NFC');
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64url');
}
