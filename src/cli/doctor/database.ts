import { existsSync } from 'node:fs';
import { DEMO_USERS } from '../../../demo/data/data.ts';
import { findUserByEmail } from '../../accounts/users.ts';
import type { Settings } from '../../config.ts';
import { systemClock } from '../../lib/clock.ts';
import { checkWritable, fileOf, type Inspection, inspect, isSqlite } from '../../storage/inspect.ts';
import { listPending } from '../../storage/migrate.ts';
import { openStorage } from '../../storage/open.ts';
import type { Storage } from '../../storage/storage.ts';
import { compareClocks } from './clock.ts';
import { about, type Finding, sentenceOf } from './finding.ts';
import { checkStoredSecrets } from './keys.ts';

const { ok, warning, problem } = about('database');
const MB = 1024 * 1024;
const GB = 1024 * MB;
const OLDEST_POSTGRES = 14;

/** All that a database has to tell. It is neither made nor brought up to date by this. Keys that are refused are undefined. */
export async function checkDatabase(settings: Settings, keys: string[] | undefined): Promise<Finding[]> {
  const { databaseUrl } = settings;
  if (isSqlite(databaseUrl) && !existsSync(fileOf(databaseUrl))) {
    return [
      warning('There is no database yet.', 'The first start makes one. If there should be one, look at DATABASE_URL.'),
    ];
  }
  let storage: Storage | undefined;
  try {
    storage = await openStorage(databaseUrl, 'migrating');
    const pending = await listPending(storage.durable);
    if (pending.length > 0) return [tellPending(storage, pending)];
    return await lookInto(storage, settings, keys);
  } catch (error) {
    return [
      problem(
        `The database cannot be used: ${sentenceOf(error)}.`,
        'Look at DATABASE_URL, and at the database itself.',
      ),
    ];
  } finally {
    await storage?.close().catch(() => {});
  }
}

function tellPending({ migratesOnStart }: Storage, pending: string[]): Finding {
  const says = `The database is older than this program: ${pending.join(', ')} is missing.`;
  return migratesOnStart
    ? warning(says, 'The next start brings it up to date. Make a backup before: gatehouse backup')
    : problem(says, 'Run: gatehouse migrate');
}

async function lookInto(storage: Storage, settings: Settings, keys: string[] | undefined): Promise<Finding[]> {
  const findings = [ok('The database answers, and its tables are up to date.'), ...(await checkWriting(storage))];
  const inspection = await inspect(storage, settings.databaseUrl);
  findings.push(...(inspection.engine === 'sqlite' ? checkSqlite(inspection) : checkPostgres(inspection)));
  if (settings.baseUrl.startsWith('https:') && (await findUserByEmail(storage.durable, DEMO_USERS.admin.email))) {
    findings.push(problem('The demo is in this database, and its passwords are public.', 'Use another database.'));
  }
  const clocks = await compareClocks(storage.durable, inspection, systemClock());
  return [...findings, ...clocks, ...(keys ? await checkStoredSecrets(storage.durable, keys) : [])];
}

async function checkWriting(storage: Storage): Promise<Finding[]> {
  try {
    await checkWritable(storage);
    return [ok('It can be written to.')];
  } catch (error) {
    return [
      problem(
        `It cannot be written to: ${sentenceOf(error)}.`,
        'Look at its permissions, its disk, and whether it is a standby.',
      ),
    ];
  }
}

function checkSqlite(inspection: Extract<Inspection, { engine: 'sqlite' }>): Finding[] {
  const { damage, fileBytes, walBytes, freeBytes, isReadableByOthers } = inspection;
  const findings: Finding[] = [];
  if (damage.length > 0) {
    findings.push(
      problem(`The file is damaged: ${damage[0]}.`, 'Stop the server and restore a backup: gatehouse restore'),
    );
  } else findings.push(ok(`The file is sound (${Math.ceil(fileBytes / MB)} MB).`));
  const free = `${(freeBytes / GB).toFixed(1)} GB are free on its disk.`;
  if (freeBytes < GB / 2) findings.push(problem(free, 'Make room: a full disk stops every change.'));
  else if (freeBytes < fileBytes + GB) findings.push(warning(free, 'That is too little for a backup beside it.'));
  else findings.push(ok(free));
  if (walBytes > 256 * MB) {
    const mend = 'Some program keeps reading, so that it cannot be cleared: look for one that has the file open.';
    findings.push(warning(`The write-ahead log has grown to ${Math.ceil(walBytes / MB)} MB.`, mend));
  }
  if (isReadableByOthers) findings.push(warning('Others on this machine can read the file.', 'Run: chmod 600 on it.'));
  return findings;
}

function checkPostgres(inspection: Extract<Inspection, { engine: 'postgres' }>): Finding[] {
  const { version, fsync, fullPageWrites, maxConnections, connections, connectionsPerNode, isPlain } = inspection;
  const findings = [ok(`PostgreSQL ${version}, ${connections} of ${maxConnections} connections in use.`)];
  if (Number.parseInt(version, 10) < OLDEST_POSTGRES) {
    findings.push(warning('This PostgreSQL is old.', `Use ${OLDEST_POSTGRES} or newer; it is tested with 18.`));
  }
  if (!fsync || !fullPageWrites) {
    const says = `${fsync ? 'full_page_writes' : 'fsync'} is off: a power cut may damage everything.`;
    findings.push(problem(says, 'Turn it on in postgresql.conf.'));
  }
  if (maxConnections < connectionsPerNode + 5) {
    const says = `One node opens up to ${connectionsPerNode} connections, and the server allows ${maxConnections}.`;
    findings.push(problem(says, 'Raise max_connections, or lower pool_size in DATABASE_URL.'));
  } else {
    findings.push(
      ok(`There is room for ${Math.floor((maxConnections - 5) / connectionsPerNode)} nodes at this pool_size.`),
    );
  }
  if (isPlain) {
    findings.push(warning('The connection to it is not encrypted.', 'Set sslmode=verify-full in DATABASE_URL.'));
  }
  return findings;
}
