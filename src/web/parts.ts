import type { Clock } from '../lib/clock.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import type { Storage } from '../storage/storage.ts';

/** What the pages are built on. */
export interface WebParts {
  storage: Storage;
  keys: Keyring;
  clock: Clock;
  /** Where apps start, and what answers are issued by. */
  issuer: string;
  /** The origin of these pages. */
  consentUrl: string;
  platformName: string;
  limits: { signInPerAccount: RateLimit; signInPerAddress: RateLimit };
}
