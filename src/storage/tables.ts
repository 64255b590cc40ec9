import type { Generated, Selectable } from 'kysely';
import type { PeopleTables } from './account-tables.ts';

/** Times are milliseconds since 1970; ids are UUIDs in text; a flag is 0 or 1. Each table has one owning file. */
export interface Tables extends PeopleTables {
  users: UsersTable;
  businesses: BusinessesTable;
  memberships: MembershipsTable;
  sessions: SessionsTable;
  apps: AppsTable;
  app_secrets: AppSecretsTable;
  grants: GrantsTable;
  consents: ConsentsTable;
  revoked_access_tokens: RevokedAccessTokensTable;
  events: EventsTable;
  endpoints: EndpointsTable;
  deliveries: DeliveriesTable;
  attempts: AttemptsTable;
  invoices: InvoicesTable;
  rate_limits: RateLimitsTable;
  clock: ClockTable;
}

interface UsersTable {
  id: string;
  email: string;
  /** Unique: addresses that look alike have the same one. */
  email_skeleton: string;
  email_verified_at: number | null;
  /** The business whose invitation the account was made with. */
  origin_business_id: string | null;
  name: string;
  password_hash: string;
  platform_admin: number;
  current_business_id: string | null;
  last_signed_in_at: number | null;
  created_at: number;
  disabled_at: number | null;
}

interface BusinessesTable {
  id: string;
  name: string;
  created_at: number;
}

export type Role = 'owner' | 'admin' | 'member';

interface MembershipsTable {
  user_id: string;
  business_id: string;
  role: Role;
  created_at: number;
}

interface SessionsTable {
  /** The hash of what the cookie holds, so that the table opens no session. */
  id_hash: string;
  user_id: string;
  browser: string;
  address: string;
  signed_in_at: number;
  last_seen_at: number;
  expires_at: number;
}

interface AppsTable {
  id: string;
  name: string;
  owner_scope: 'business' | 'platform';
  owner_business_id: string | null;
  open_to_any_business: number;
  requires_pkce: number;
  allowed_scopes: number;
  /** A JSON list. */
  redirect_uris: string;
  created_by: string | null;
  created_at: number;
  /** By its owner. */
  disabled_at: number | null;
  /** By the platform, and everywhere: its owner cannot undo it. */
  paused_at: number | null;
  deleted_at: number | null;
}

interface AppSecretsTable {
  id: string;
  app_id: string;
  /** 1 or 2, and unique per app: the table itself holds an app to two secrets. */
  slot: number;
  secret_hash: string;
  hint: string;
  created_at: number;
  last_used_at: number | null;
}

interface GrantsTable {
  id: string;
  salt: Uint8Array;
  app_id: string;
  user_id: string;
  business_id: string;
  scopes: number;
  /** As the authorize request gave it; null where the app left it out. */
  redirect_uri: string | null;
  code_challenge: string | null;
  created_at: number;
  code_expires_at: number;
  exchanged_at: number | null;
  rotation: number;
  /** The newest rotation of which an access token has been used. It may lag behind by a second. */
  used_rotation: Generated<number>;
  rotated_at: number | null;
  refresh_expires_at: number | null;
  revoked_at: number | null;
  revoked_reason: string | null;
  /** Days since 1970. A whole day, so that a refresh seldom changes what the index holds. */
  removable_on: number;
  /** When its app was last told that it is about to end. */
  warned_at: number | null;
}

interface ConsentsTable {
  user_id: string;
  app_id: string;
  business_id: string;
  scopes: number;
  /** Optional scopes that were left out: they are not asked about again. */
  declined: number;
  allowed_at: number;
}

interface RevokedAccessTokensTable {
  grant_id: string;
  rotation: number;
  expires_at: number;
}

interface EventsTable {
  id: string;
  type: string;
  app_id: string;
  business_id: string;
  data: string;
  created_at: number;
  /** When it was turned into deliveries, or recorded if its app had no endpoint; null until then. */
  dispatched_at: number | null;
}

interface EndpointsTable {
  id: string;
  app_id: string;
  url: string;
  /** A JSON list. */
  event_types: string;
  /** Concealed: they must be known to sign, so a hash would not do. */
  secret: string;
  old_secret: string | null;
  /** Until then the secret before signs as well. */
  old_secret_until: number | null;
  created_at: number;
  disabled_at: number | null;
  disabled_reason: string | null;
  /** When the attempts began to fail that have not been followed by a success. */
  failing_since: number | null;
  /** How many there have been since. */
  failures: number;
  /** When there is next something to do here; null if there is nothing. */
  due_at: number | null;
  /** A node is at work on it until then. */
  claimed_until: number;
  /** After a failure it is left alone until then, whatever comes in meanwhile. */
  backoff_until: number;
}

interface DeliveriesTable {
  id: string;
  endpoint_id: string;
  event_id: string;
  created_at: number;
  /** When to try next; null once it has arrived, or was given up. */
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
  /** The status line and headers of the answer, as far as 1 kB goes. */
  head: string;
}

interface InvoicesTable {
  id: string;
  business_id: string;
  number: string;
  status: string;
  /** An integer of hundredths, in digits: exact at any size. */
  total: string;
  currency: string;
  customer_id: string;
  created_at: number;
}

/** One row. */
interface ClockTable {
  id: number;
  /** The last plausible one. */
  reading: number;
}

interface RateLimitsTable {
  key: string;
  points: number;
  expire: number | null;
}

export type Row<Name extends keyof Tables> = Selectable<Tables[Name]>;
