import { preparedQuery } from '../../../src/storage/prepared-query.ts';
import type { Tables } from '../../../src/storage/tables.ts';
import type { TestServer } from '../../support/test-server.ts';

type Table = keyof Tables;

/** Almost every change adds an audit entry, so that table is first. */
const TABLES: Table[] = [
  'audit_entries',
  'users',
  'businesses',
  'memberships',
  'sessions',
  'apps',
  'app_secrets',
  'grants',
  'consents',
  'revoked_access_tokens',
  'events',
  'endpoints',
  'deliveries',
  'attempts',
  'invoices',
  'invitations',
  'passkeys',
  'authenticator_apps',
  'recovery_codes',
  'notices',
  'password_links',
  'mail_links',
  'platform_settings',
  'app_policies',
  'platform_app_policy',
  'app_approvals',
  'app_requests',
  'handovers',
];

const queries = new Map(
  TABLES.map((table) => [table, preparedQuery<object, object>((db) => db.selectFrom(table).selectAll())]),
);

/** Background deliveries may change these at any time. */
const SENDING: Table[] = ['events', 'endpoints', 'deliveries', 'attempts'];

/**
 * Every row of these tables, as text after the name of its table. Leaves out when an event was dispatched, which can happen
 * at any moment, and failed sign-ins, which any visitor can cause.
 */
export async function dump(server: TestServer): Promise<string[]> {
  return [...(await takeSnapshot(server))].flatMap(([table, rows]) => rows.map((row) => `${table} ${row}`));
}

/** Sorted: PostgreSQL moves a row that it updates. */
async function readTable({ storage }: TestServer, table: Table): Promise<string[]> {
  const found = await queries.get(table)?.(storage().durable, {});
  const rows = found?.rows ?? [];
  if (table === 'events') return rows.map((row) => JSON.stringify({ ...row, dispatched_at: undefined })).sort();
  const texts = rows.map((row) => JSON.stringify(row)).sort();
  return table === 'audit_entries' ? texts.filter((row) => !/"action":"session\.(member_)?failed"/.test(row)) : texts;
}

/** The rows of each table. */
type Snapshot = Map<Table, string[]>;

export async function takeSnapshot(server: TestServer): Promise<Snapshot> {
  await server.spreadHappenings();
  return new Map(
    await Promise.all(TABLES.map(async (table) => [table, await readTable(server, table)] as [Table, string[]])),
  );
}

/** Reads one table after the other, until one has changed. Without `sending`, leaves out what deliveries may change. */
export async function hasChangedSince(
  server: TestServer,
  before: Snapshot,
  { sending }: { sending: boolean },
): Promise<boolean> {
  for (const [table, rows] of before) {
    if (!sending && SENDING.includes(table)) continue;
    const after = await readTable(server, table);
    if (after.length !== rows.length || after.some((row, index) => row !== rows[index])) return true;
  }
  return false;
}

/** The rows that contain one of these texts. */
export function rowsWith(rows: string[], texts: string[]): string[] {
  return rows.filter((row) => texts.some((text) => row.includes(text)));
}

export function withoutSending(rows: string[]): string[] {
  return rows.filter((row) => !SENDING.some((table) => row.startsWith(`${table} `)));
}
