import { existsSync } from 'node:fs';
import { DEMO_USERS } from '../../../demo/data.ts';
import { findUserByEmail } from '../../accounts/users.ts';
import { listAppsOf } from '../../apps/apps.ts';
import type { Settings } from '../../config/settings.ts';
import { MAX_COUNTED } from '../../grants/counts.ts';
import { readWaiting } from '../../grants/follow-up-progress.ts';
import { DAY, HOUR, MINUTE, SECOND, systemClock } from '../../lib/clock.ts';
import {
  checkStandbyWait,
  checkWritable,
  type Inspection,
  inspect,
  isSqliteUrl,
  sqliteFileOf,
} from '../../storage/inspect.ts';
import { listPending } from '../../storage/migrate.ts';
import { openStorage } from '../../storage/open.ts';
import { MAX_JUMP, readLastReading } from '../../storage/plausible-clock.ts';
import type { Database, Storage } from '../../storage/storage.ts';
import { checkContracts } from './contracts.ts';
import { errorMessage, type Finding, findingsAbout } from './finding.ts';
import { checkKnownKeys } from './keys.ts';

const { ok, warning, problem } = findingsAbout('database');
const MB = 1024 * 1024;
const GB = 1024 * MB;
const MIN_POSTGRES = 14;

/** Neither creates nor migrates the database. `keys` is undefined if they are invalid. */
export async function checkDatabase(settings: Settings, keys: string[] | undefined): Promise<Finding[]> {
  const { databaseUrl } = settings;
  if (isSqliteUrl(databaseUrl) && !existsSync(sqliteFileOf(databaseUrl))) {
    const fix = 'The first start creates it. If it should exist already, check DATABASE_URL.';
    return [warning('There is no database yet.', fix)];
  }
  let storage: Storage | undefined;
  try {
    storage = await openStorage(databaseUrl, 'migrating');
    const pending = (await listPending(storage)).filter(({ phase }) => phase !== 'contract').map(({ name }) => name);
    if (pending.length > 0) return [outdated(storage, pending)];
    return await checkOpened(storage, settings, keys);
  } catch (error) {
    const fix = 'Check DATABASE_URL and the database itself.';
    return [problem(`The database cannot be used: ${errorMessage(error)}.`, fix)];
  } finally {
    await storage?.close().catch(() => {});
  }
}

function outdated({ migratesOnStart }: Storage, pending: string[]): Finding {
  const message = `The database is older than this version: ${pending.join(', ')} is not applied.`;
  return migratesOnStart
    ? warning(message, 'The next start migrates it. Make a backup first: gatehouse backup')
    : problem(message, 'Run: gatehouse migrate');
}

async function checkOpened(storage: Storage, settings: Settings, keys: string[] | undefined): Promise<Finding[]> {
  const findings = [
    ok('The database responds, and its tables are up to date.'),
    ...(await checkContracts(storage)),
    ...(await checkWriting(storage)),
  ];
  const inspection = await inspect(storage, settings.databaseUrl);
  findings.push(...(inspection.engine === 'sqlite' ? checkSqlite(inspection) : checkPostgres(inspection)));
  if (settings.baseUrl.startsWith('https:') && (await findUserByEmail(storage.durable, DEMO_USERS.admin.email))) {
    findings.push(
      problem('This database contains the demo data, whose passwords are public.', 'Use another database.'),
    );
  }
  findings.push(...(await checkIntrospection(storage.durable, settings)));
  findings.push(...(await checkFollowUps(storage.durable, systemClock())));
  const clocks = await compareClocks(storage.durable, inspection, systemClock());
  return [...findings, ...clocks, ...(keys ? await checkKnownKeys(storage.durable, keys) : [])];
}

/** Without the resources, tokens are for an API of the platform, which has to introspect them. */
async function checkIntrospection(db: Database, settings: Settings): Promise<Finding[]> {
  const { introspectionClients, servesResources } = settings;
  if (introspectionClients.size === 0) {
    if (servesResources) return [];
    const fix =
      'Register an app for the API of the platform (gatehouse app add --platform), and set its id as INTROSPECTION_CLIENTS.';
    return [warning('BUSINESS_API is off, and no app may introspect the tokens of other apps.', fix)];
  }
  const apps = await listAppsOf(db, null);
  const active = new Set(apps.filter((app) => app.disabledAt === null && app.pausedAt === null).map(({ id }) => id));
  return [...introspectionClients]
    .filter((id) => !active.has(id))
    .map((id) =>
      warning(
        `INTROSPECTION_CLIENTS names ${id}, which is not an active first-party app: it introspects only its own tokens.`,
        'Remove it from the setting, or resume the app. gatehouse app list shows the apps.',
      ),
    );
}

/** A million grants take a few minutes. */
const LATE = HOUR;

/** What stops leave to a job. They take effect without it. */
async function checkFollowUps(db: Database, now: number): Promise<Finding[]> {
  const { count, done, oldestAt } = await readWaiting(db, MAX_COUNTED);
  if (oldestAt === null) return [];
  const message = `Follow-ups of stops that are not finished: ${count}, with ${done} grants done, the oldest since ${new Date(oldestAt).toISOString()}.`;
  if (now - oldestAt < LATE) return [ok(message)];
  return [warning(message, 'Check that a server runs, and its log for errors of follow-ups. No stopped grant works.')];
}

async function checkWriting(storage: Storage): Promise<Finding[]> {
  try {
    await checkWritable(storage);
  } catch (error) {
    const fix = 'Check its permissions, its disk, and whether it is a standby.';
    return [problem(`It is not writable: ${errorMessage(error)}.`, fix)];
  }
  return [ok('It is writable.'), ...(storage.engine === 'postgres' ? await checkRepeatedChanges(storage) : [])];
}

/** Services that resemble PostgreSQL may lack the function. */
async function checkRepeatedChanges(storage: Storage): Promise<Finding[]> {
  try {
    await checkStandbyWait(storage);
    return [];
  } catch (error) {
    const message = `pg_logical_emit_message cannot be used (${errorMessage(error)}): a repeated change, such as the second revocation of a token, fails.`;
    const fix =
      'Grant the right to execute it to the role of DATABASE_URL. Without the function, use another service: only with it is a repeated change confirmed when a synchronous standby has it.';
    return [problem(message, fix)];
  }
}

function checkSqlite(inspection: Extract<Inspection, { engine: 'sqlite' }>): Finding[] {
  const { damage, fileBytes, walBytes, freeBytes, isReadableByOthers } = inspection;
  const findings = [
    damage.length > 0
      ? problem(`The file is damaged: ${damage[0]}.`, 'Stop the server and restore a backup: gatehouse restore')
      : ok(`The file is intact (${Math.ceil(fileBytes / MB)} MB).`),
  ];
  const free = `${(freeBytes / GB).toFixed(1)} GB are free on its disk.`;
  if (freeBytes < GB / 2) findings.push(problem(free, 'Free some space: on a full disk every write fails.'));
  else if (freeBytes < fileBytes + GB)
    findings.push(warning(free, 'That is too little for a backup on the same disk.'));
  else findings.push(ok(free));
  if (walBytes > 256 * MB) {
    const fix = 'A long read keeps it from being truncated. Look for another program that has the file open.';
    findings.push(warning(`The write-ahead log has grown to ${Math.ceil(walBytes / MB)} MB.`, fix));
  }
  if (isReadableByOthers) {
    findings.push(warning('Other users of this machine can read the file.', 'Run chmod 600 on it.'));
  }
  return findings;
}

function checkPostgres(inspection: Extract<Inspection, { engine: 'postgres' }>): Finding[] {
  const { version, fsync, fullPageWrites, maxConnections, connections, connectionsPerNode, isUnencrypted } = inspection;
  const findings = [ok(`PostgreSQL ${version}, ${connections} of ${maxConnections} connections in use.`)];
  if (Number.parseInt(version, 10) < MIN_POSTGRES) {
    findings.push(
      warning('This PostgreSQL is too old.', `Use ${MIN_POSTGRES} or newer. Gatehouse is tested with 15 and 18.`),
    );
  }
  if (!fsync || !fullPageWrites) {
    const message = `${fsync ? 'full_page_writes' : 'fsync'} is off: a power cut may damage the database.`;
    findings.push(problem(message, 'Turn it on in postgresql.conf.'));
  }
  if (maxConnections < connectionsPerNode + 5) {
    const message = `One node opens up to ${connectionsPerNode} connections, and the server allows ${maxConnections}.`;
    findings.push(problem(message, 'Raise max_connections, or lower pool_size in DATABASE_URL.'));
  } else {
    const nodes = Math.floor((maxConnections - 5) / connectionsPerNode);
    findings.push(ok(`There are enough connections for ${nodes} ${nodes === 1 ? 'node' : 'nodes'} at this pool_size.`));
  }
  if (isUnencrypted) {
    findings.push(
      warning('The connection to PostgreSQL is not encrypted.', 'Set sslmode=verify-full in DATABASE_URL.'),
    );
  }
  return findings;
}

const EARLIEST = Date.UTC(2025, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);
const FIX_CLOCK = 'Synchronize the clock with NTP: it decides when tokens and sessions expire.';

export function checkClock(now: number): Finding[] {
  const { ok, problem } = findingsAbout('clock');
  const text = new Date(now).toISOString();
  if (now < EARLIEST || now > LATEST) return [problem(`The clock reads ${text}, which is wrong.`, FIX_CLOCK)];
  return [ok(`The clock reads ${text}.`)];
}

/** With the newest stored row, with the last stored reading, and with PostgreSQL's clock. */
async function compareClocks(db: Database, inspection: Inspection, now: number): Promise<Finding[]> {
  const { ok, warning, problem } = findingsAbout('clock');
  const ahead = (await findNewestTime(db)) - now;
  const findings: Finding[] = [];
  if (ahead > MINUTE) {
    const seconds = Math.round(ahead / SECOND);
    findings.push(warning(`The newest row of the database is ${seconds} s in the future.`, FIX_CLOCK));
  }
  const jump = now - ((await readLastReading(db)) ?? now);
  if (jump > MAX_JUMP) {
    const message = `The clock is ${(jump / DAY).toFixed(1)} days ahead of its last reading, so no old data is removed.`;
    const fix = 'Correct the clock. If it is correct, and the server was off, run: gatehouse clock confirm';
    findings.push(warning(message, fix));
  }
  if (inspection.engine !== 'postgres') return findings;
  const difference = Math.abs(inspection.now - now);
  const message = `The clocks of this machine and of PostgreSQL differ by ${(difference / SECOND).toFixed(1)} s.`;
  if (difference > MINUTE) return [...findings, problem(message, FIX_CLOCK)];
  if (difference > 2 * SECOND) return [...findings, warning(message, FIX_CLOCK)];
  return [...findings, ok(message)];
}

async function findNewestTime(db: Database): Promise<number> {
  const entry = await db.selectFrom('audit_entries').select('at').orderBy('id', 'desc').limit(1).executeTakeFirst();
  const event = await db.selectFrom('events').select('created_at').orderBy('id', 'desc').limit(1).executeTakeFirst();
  return Math.max(entry?.at ?? 0, event?.created_at ?? 0);
}
