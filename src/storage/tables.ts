import type { Selectable } from 'kysely';
import type { AccountTables } from './account-tables.ts';
import type { AppTables } from './app-tables.ts';

/** Times are milliseconds since 1970; ids are UUIDs in text; a flag is 0 or 1. Each table has one owning file. */
export interface Tables extends AccountTables, AppTables {
  happenings: HappeningsTable;
  events: EventsTable;
  long_transactions: LongTransactionsTable;
  endpoints: EndpointsTable;
  deliveries: DeliveriesTable;
  attempts: AttemptsTable;
  companies: RecordsTable;
  contacts: RecordsTable;
  invoices: RecordsTable;
  deals: RecordsTable;
  employees: RecordsTable;
  expense_categories: RecordsTable;
  expenses: RecordsTable;
  orders: RecordsTable;
  number_sequences: NumberSequencesTable;
  idempotency_keys: IdempotencyKeysTable;
  logged_requests: LoggedRequestsTable;
  request_counts: RequestCountsTable;
  scope_uses: ScopeUsesTable;
  rate_limits: RateLimitsTable;
  clock: ClockTable;
  leases: LeasesTable;
  signing_keys: SigningKeysTable;
}

/** What happened in a business, until a row of `events` exists for each app that may read it. */
interface HappeningsTable {
  id: string;
  business_id: string;
  /** The scope that an app needs to receive it. */
  scope: string;
  type: string;
  data: string;
  happened_at: number;
  /** The last app that has its row, in the order of the ids; null if none has. */
  last_app_id: string | null;
}

interface EventsTable {
  id: string;
  type: string;
  app_id: string;
  business_id: string;
  data: string;
  /** When it was recorded. Listing depends on it. */
  created_at: number;
  /** When its deliveries were created, or when it was recorded if its app had no endpoint. */
  dispatched_at: number | null;
  /** Null if it was recorded in the transaction of what it tells: then that happened at `created_at`. */
  happened_at: number | null;
}

interface LongTransactionsTable {
  id: string;
  started_at: number;
}

interface EndpointsTable {
  id: string;
  app_id: string;
  url: string;
  /** A JSON list. */
  event_types: string;
  /** Encrypted, and not hashed: it signs. */
  secret: string;
  old_secret: string | null;
  /** Until then the old secret signs as well. */
  old_secret_until: number | null;
  created_at: number;
  disabled_at: number | null;
  disabled_reason: string | null;
  /** The first failed attempt since the last success. */
  failing_since: number | null;
  /** Failed attempts since then. */
  failures: number;
  /** When the next delivery is due; null if there is none. */
  due_at: number | null;
  /** Until then one node delivers to it. */
  claimed_until: number;
  /** After a failure nothing is sent until then. */
  backoff_until: number;
}

interface DeliveriesTable {
  id: string;
  endpoint_id: string;
  event_id: string;
  created_at: number;
  /** The next attempt; null after it was delivered or given up. */
  due_at: number | null;
  attempts: number;
  delivered_at: number | null;
  given_up_at: number | null;
}

interface AttemptsTable {
  id: string;
  delivery_id: string;
  at: number;
  /** In milliseconds. */
  took: number;
  status: number | null;
  outcome: string;
  /** The status line and headers of the response, up to 1 kB. */
  head: string;
  /** The headers `webhook-timestamp`, in milliseconds, and `webhook-signature`; null if nothing was sent. */
  signed_at: number | null;
  signature: string | null;
}

/** The records of a resource. The other columns follow from its fields, in src/resources. Amounts are integers as text. */
export interface RecordsTable {
  id: string;
  business_id: string;
  version: number;
  created_at: number;
  updated_at: number;
  [column: string]: string | number | null;
}

interface NumberSequencesTable {
  business_id: string;
  resource: string;
  next: number;
}

interface IdempotencyKeysTable {
  business_id: string;
  app_id: string;
  user_id: string;
  key: string;
  request_hash: string;
  status: number;
  response: string;
  created_at: number;
}

/** The last requests of each app, shown to its developers. */
interface LoggedRequestsTable {
  id: string;
  app_id: string;
  at: number;
  method: string;
  route: string;
  /** At the token endpoint. */
  grant_type: string | null;
  status: number;
  reason: string | null;
  request_id: string;
  business_id: string | null;
  /** In milliseconds. */
  took: number;
  /** Of a rejected authorize request. */
  parameter: string | null;
  redirect_origin: string | null;
  redirect_difference: string | null;
}

interface RequestCountsTable {
  app_id: string;
  /** Hours since 1970. */
  hour: number;
  requests: number;
  errors: number;
  refreshes: number;
  exchanges: number;
  pkce_exchanges: number;
}

/** How often an app has used a scope for one user in one business, by day. */
interface ScopeUsesTable {
  business_id: string;
  app_id: string;
  user_id: string;
  scope: string;
  /** Days since 1970. */
  day: number;
  uses: number;
  last_at: number;
}

/** One row. */
interface ClockTable {
  id: number;
  /** The last plausible reading. */
  reading: number;
}

/** Which process does the work of this name. */
interface LeasesTable {
  name: string;
  holder: string;
  /** By the clock of the database. */
  expires_at: number;
}

/** The keys that servers may sign with, by their ids. */
interface SigningKeysTable {
  id: string;
  recorded_at: number;
}

interface RateLimitsTable {
  key: string;
  points: number;
  expire: number | null;
}

export type Row<Name extends keyof Tables> = Selectable<Tables[Name]>;
