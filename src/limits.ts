import type { Limits } from './config/limits.ts';
import type { Settings } from './config/settings.ts';
import { createRateLimit } from './lib/rate-limit.ts';
import type { Storage } from './storage/storage.ts';
import type { Metrics } from './telemetry/metrics.ts';

/** In seconds. */
const MINUTE = 60;
const QUARTER_HOUR = 15 * MINUTE;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Mails that people can request in an hour: to one address, and from one network. */
const MAIL_PER_ADDRESS = 5;
const MAIL_PER_NETWORK = 60;

/** Every rate limit. Nodes and workers that share a database share them. */
export function createLimits({ limits }: Settings, storage: Storage, metrics: Metrics) {
  const newLimit = (
    metric: string,
    { name = metric, points, seconds }: { name?: string; points: number; seconds: number },
  ) => {
    const shared = storage.createSharedCounter?.({ name, points, seconds });
    return createRateLimit({ points, seconds, shared, onReject: metrics.rateLimitListener(metric) });
  };
  const limit = (name: keyof Limits, seconds: number) => newLimit(name, { points: limits[name], seconds });
  const reserve = Math.max(1, Math.floor(limits.signInPerAccount / 4));
  return {
    perApp: limit('perApp', MINUTE),
    wrongSecrets: limit('wrongSecrets', MINUTE),
    perGrant: limit('perGrant', MINUTE),
    perUser: limit('perUser', MINUTE),
    changesPerUser: limit('changesPerUser', MINUTE),
    signInPerAccount: limit('signInPerAccount', QUARTER_HOUR),
    signInReserve: newLimit('signInPerAccount', { name: 'signInReserve', points: reserve, seconds: QUARTER_HOUR }),
    codesPerAccount: newLimit('signInPerAccount', {
      name: 'codesPerAccount',
      points: limits.signInPerAccount,
      seconds: DAY,
    }),
    signInPerAddress: limit('signInPerAddress', QUARTER_HOUR),
    clientDocuments: limit('externalClients', MINUTE),
    registrations: newLimit('externalClients', {
      name: 'registrations',
      points: limits.externalClients,
      seconds: MINUTE,
    }),
    mailPerAddress: newLimit('mailPerAddress', { points: MAIL_PER_ADDRESS, seconds: HOUR }),
    mailPerNetwork: newLimit('mailPerNetwork', { points: MAIL_PER_NETWORK, seconds: HOUR }),
  };
}
