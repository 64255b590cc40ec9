import { type Act, listActsOn } from '../audit/act-log.ts';
import { countRepeat } from '../audit/act-repeats.ts';
import { type Actor, recordAudit } from '../audit/acts.ts';
import { DAY, HOUR } from '../lib/clock.ts';
import { networkOf } from '../lib/ip-addresses.ts';
import type { Database } from '../storage/storage.ts';
import { auditedUser } from './user-acts.ts';
import type { User } from './users.ts';

interface FailedSignIn {
  /** Whose account it was; undefined if there is no such account. */
  user: Pick<User, 'id' | 'name'> | undefined;
  method: 'password' | 'passkey';
  address: string;
}

const WINDOW = HOUR;
const SHOWN = 5;
const SHOWN_FOR = 90 * DAY;

/**
 * Needs a transaction. The log gets the 1st, 10th, 100th … failure of an account within an hour, so that nobody can fill it by
 * failing. An unknown account is counted, too, and never recorded: both take the same time.
 */
export async function recordFailedSignIn(
  db: Database,
  { user, method, address }: FailedSignIn,
  now: number,
): Promise<void> {
  const key = `session.failed ${user?.id ?? networkOf(address)}`;
  const times = await countRepeat(db, { key, window: WINDOW }, now);
  if (!user || !Number.isInteger(Math.log10(times))) return;
  const actor: Actor = { kind: 'anonymous', id: null, name: 'Someone', email: null, address };
  const detail = { with: method, ...(times > 1 && { attempts_within_an_hour: String(times) }) };
  await recordAudit(db, { action: 'session.failed', actor, businessId: null, subject: auditedUser(user), detail }, now);
}

/** The last ones, for the person whose account it is. */
export function listFailedSignIns(db: Database, userId: string, now: number): Promise<Act[]> {
  return listActsOn(db, { subjectId: userId, actions: ['session.failed'], since: now - SHOWN_FOR, limit: SHOWN });
}
