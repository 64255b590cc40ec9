import type { Tables } from '../../../src/storage/tables.ts';
import type { TestServer } from '../../support/test-server.ts';

const TABLES: (keyof Tables)[] = [
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
  'audit_entries',
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
];

/**
 * Every row of these tables, as text after the name of its table. Leaves out when an event was dispatched, which can happen
 * at any moment, and failed sign-ins, which any visitor can cause.
 */
export async function dump({ storage }: TestServer): Promise<string[]> {
  const rows = await Promise.all(
    TABLES.map(async (table) => {
      const found = await storage().durable.selectFrom(table).selectAll().execute();
      const rows = table === 'events' ? found.map((row) => ({ ...row, dispatched_at: undefined })) : found;
      return rows.map((row) => `${table} ${JSON.stringify(row)}`);
    }),
  );
  return rows
    .flat()
    .filter((row) => !/"action":"session\.(member_)?failed"/.test(row))
    .sort();
}

/** The rows that contain one of these texts. */
export function rowsWith(rows: string[], texts: string[]): string[] {
  return rows.filter((row) => texts.some((text) => row.includes(text)));
}

/** Columns that background deliveries may change at any time. */
export function withoutSending(rows: string[]): string[] {
  return rows.filter((row) => !/^(events|endpoints|deliveries|attempts) /.test(row));
}
