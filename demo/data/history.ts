import { addRequests, type NewRequest } from '../../src/request-log/log.ts';
import { addCounts, type Counts, hourOf, addScopeUses } from '../../src/request-log/counts.ts';
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts';
import { newRandomId } from '../../src/lib/ids.ts';
import type { Database } from '../../src/storage/storage.ts';

/** On whose behalf an app has been busy, and with how much of what it read. */
interface Busy {
  appId: string;
  userId: string;
  businessId: string;
  share: number;
}

/** Thirty days of an app's work, up to the hour that is not over: counts, uses and log tell of the same requests. */
export async function addDemoHistory(db: Database, connections: Busy[], now: number): Promise<void> {
  const [first] = connections;
  if (!first) return;
  const last = hourOf(now) - 1;
  const hours = Array.from({ length: 30 * 24 }, (_, place) => last - place).map((hour) => ({
    appId: first.appId,
    hour,
    ...workOf(hour),
  }));
  await addCounts(db, hours);
  await addScopeUses(
    db,
    connections.flatMap((connection) => usesOf(connection, hours)),
  );
  const today = hours.slice(0, 24).flatMap((each) => requestsOf(each, connections));
  await addRequests(
    db,
    today.sort((a, b) => a.at - b.at),
  );
}

/** More by day than by night, less on Saturdays and Sundays, and the same at every start. */
function workOf(hour: number): Counts {
  const [ofDay, day] = [hour % 24, Math.floor(hour / 24)];
  // 1 January 1970 was a Thursday.
  const isWeekend = [2, 3].includes(day % 7);
  const isDay = ofDay >= 7 && ofDay < 19;
  const refreshes = isDay ? 3 : 1;
  const reads = (isDay ? 6 + ((hour * 7) % 5) + (ofDay % 3) : 1 + (hour % 2)) * (isWeekend ? 1 : 2);
  const errors = hour % 17 === 0 ? 2 : hour % 7 === 0 ? 1 : 0;
  return { requests: reads + refreshes + errors, errors, refreshes };
}

function usesOf({ share, ...parties }: Busy, hours: ({ hour: number } & Counts)[]) {
  const byDay = Map.groupBy(hours, ({ hour }) => Math.floor((hour * HOUR) / DAY));
  return [...byDay.values()].map((ofDay) => {
    const reads = ofDay.reduce((sum, { requests, errors, refreshes }) => sum + requests - errors - refreshes, 0);
    const lastAt = Math.max(...ofDay.map(({ hour }) => hour)) * HOUR + 50 * MINUTE;
    return { ...parties, scope: 'read:invoices', uses: Math.ceil(reads * share), lastAt };
  });
}

const READ = { method: 'GET', route: '/api/v1/accounting/invoices', grantType: null, status: 200, reason: null };
const REFRESH = { ...READ, method: 'POST', route: '/api/v1/oauth/token', grantType: 'refresh_token' };
const REFUSALS = [
  { ...READ, status: 401, reason: 'access_token_expired' },
  { ...READ, status: 403, reason: 'business_mismatch' },
];

function requestsOf({ hour, ...counts }: { hour: number } & Counts, connections: Busy[]): NewRequest[] {
  const { requests, errors, refreshes } = counts;
  return Array.from({ length: requests }, (_, place) => {
    const { appId, businessId } = connections[(hour + place) % connections.length] as Busy;
    const isRefused = place >= requests - errors;
    const request = place < refreshes ? REFRESH : isRefused ? (REFUSALS[(hour + place) % 2] ?? READ) : READ;
    const at = hour * HOUR + Math.floor((place * 50 * MINUTE) / requests) + ((place * 7919) % MINUTE);
    const took = request.status >= 400 ? 2 : 6 + ((place * 5) % 9);
    return { ...request, appId, businessId, at, requestId: newRandomId(), took };
  });
}
