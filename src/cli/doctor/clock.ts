import { DAY, MINUTE, SECOND } from '../../lib/clock.ts';
import type { Inspection } from '../../storage/inspect.ts';
import { MAX_JUMP, readReading } from '../../storage/plausible-clock.ts';
import type { Database } from '../../storage/storage.ts';
import { about, type Finding } from './finding.ts';

const { ok, warning, problem } = about('clock');

const EARLIEST = Date.UTC(2025, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);
const MEND = 'Let NTP set the clock: what expires, and when, is decided by it.';

export function checkClock(now: number): Finding[] {
  const text = new Date(now).toISOString();
  if (now < EARLIEST || now > LATEST) return [problem(`The clock says ${text}, which cannot be.`, MEND)];
  return [ok(`The clock says ${text}.`)];
}

/** Against the server's own clock where it has one, and against what has been written down in any case. */
export async function compareClocks(db: Database, inspection: Inspection, now: number): Promise<Finding[]> {
  const ahead = (await findNewestTime(db)) - now;
  const findings: Finding[] = [];
  if (ahead > MINUTE) {
    const seconds = Math.round(ahead / SECOND);
    findings.push(warning(`The database holds something from ${seconds} s in the future.`, MEND));
  }
  findings.push(...(await checkReading(db, now)));
  if (inspection.engine !== 'postgres') return findings;
  const difference = Math.abs(inspection.now - now);
  const says = `The clocks of this machine and of PostgreSQL differ by ${(difference / SECOND).toFixed(1)} s.`;
  if (difference > MINUTE) return [...findings, problem(says, MEND)];
  if (difference > 2 * SECOND) return [...findings, warning(says, MEND)];
  return [...findings, ok(says)];
}

/** Against the last reading that a server has stored. */
async function checkReading(db: Database, now: number): Promise<Finding[]> {
  const jump = now - ((await readReading(db)) ?? now);
  if (jump <= MAX_JUMP) return [];
  const says = `The clock is ${(jump / DAY).toFixed(1)} days ahead of its last reading, so nothing is removed because of it.`;
  return [warning(says, 'Set the clock right. If it is right, and the server was off, run: gatehouse clock confirm')];
}

async function findNewestTime(db: Database): Promise<number> {
  const act = await db.selectFrom('audit_entries').select('at').orderBy('id', 'desc').limit(1).executeTakeFirst();
  const event = await db.selectFrom('events').select('created_at').orderBy('id', 'desc').limit(1).executeTakeFirst();
  return Math.max(act?.at ?? 0, event?.created_at ?? 0);
}
