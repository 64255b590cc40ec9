import type { Limits } from './config/limits.ts';
import type { Settings } from './config/settings.ts';
import { DAY, HOUR, MINUTE, SECOND } from './lib/clock.ts';
import { createRateLimit } from './lib/rate-limit.ts';
import type { Storage } from './storage/storage.ts';
import type { Metrics } from './telemetry/metrics.ts';

const QUARTER_HOUR = 15 * MINUTE;

/** Mails that people can request in an hour: to one address, and from one network. */
const MAIL_PER_ADDRESS = 5;
const MAIL_PER_NETWORK = 60;

/** Every rate limit. Nodes and workers that share a database share them. */
export function createLimits({ limits }: Settings, storage: Storage, metrics: Metrics) {
  const newLimit = (
    metric: string,
    { name = metric, points, window, counted }: { name?: string; points: number; window: number; counted?: string },
  ) => {
    const seconds = window / SECOND;
    const shared = storage.createSharedCounter?.({ name, points, seconds });
    return createRateLimit({ points, seconds, counted, shared, onReject: metrics.rateLimitListener(metric) });
  };
  const limit = (name: keyof Limits, window: number, counted?: string) =>
    newLimit(name, { points: limits[name], window, ...(counted !== undefined && { counted }) });
  const reserve = Math.max(1, Math.floor(limits.signInPerAccount / 4));
  return {
    perApp: limit('perApp', MINUTE, 'requests of this app'),
    wrongSecrets: limit('wrongSecrets', MINUTE, 'wrong secrets from this network'),
    perGrant: limit('perGrant', MINUTE, 'requests with the tokens of this grant'),
    perUser: limit('perUser', MINUTE),
    changesPerUser: limit('changesPerUser', MINUTE),
    exportsPerUser: limit('exportsPerUser', HOUR, 'exports of your data'),
    signInPerAccount: limit('signInPerAccount', QUARTER_HOUR),
    signInReserve: newLimit('signInPerAccount', { name: 'signInReserve', points: reserve, window: QUARTER_HOUR }),
    codesPerAccount: newLimit('signInPerAccount', {
      name: 'codesPerAccount',
      points: limits.signInPerAccount,
      window: DAY,
    }),
    signInPerAddress: limit('signInPerAddress', QUARTER_HOUR),
    clientDocuments: limit('externalClients', MINUTE),
    registrations: newLimit('externalClients', {
      name: 'registrations',
      counted: 'registrations from this network',
      points: limits.externalClients,
      window: MINUTE,
    }),
    mailPerAddress: newLimit('mailPerAddress', { points: MAIL_PER_ADDRESS, window: HOUR }),
    mailPerNetwork: newLimit('mailPerNetwork', { points: MAIL_PER_NETWORK, window: HOUR }),
  };
}
