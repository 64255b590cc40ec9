import type { Role } from './tables.ts';

/** What people see and control: who did what, what apps did, who is invited, and how one signs in without a password. */
export interface PeopleTables {
  audit_entries: AuditEntriesTable;
  audit_retention: AuditRetentionTable;
  audit_repeats: AuditRepeatsTable;
  logged_requests: LoggedRequestsTable;
  request_counts: RequestCountsTable;
  scope_uses: ScopeUsesTable;
  invitations: InvitationsTable;
  passkeys: PasskeysTable;
  password_links: PasswordLinksTable;
  used_challenges: UsedChallengesTable;
}

/** What was done, by whom, to what. Rows are added, and removed by the retention job alone. */
interface AuditEntriesTable {
  id: string;
  at: number;
  action: string;
  actor_kind: 'user' | 'platform' | 'app' | 'operator' | 'anonymous';
  actor_id: string | null;
  /** As it was called then, like the subject. */
  actor_name: string;
  /** Of a person. */
  actor_email: string | null;
  address: string | null;
  /** Whose owners may see it; null where it concerns the platform alone. */
  business_id: string | null;
  subject_kind: string;
  subject_id: string;
  subject_name: string;
  /** A JSON object of texts. */
  detail: string;
}

/** One row: the triggers of `audit_entries` let rows from before this time be removed. 0, except inside the retention job. */
interface AuditRetentionTable {
  removable_before: number;
}

/** What was repeated within a window, so that not every repeat is an entry of the log. */
interface AuditRepeatsTable {
  key: string;
  window_start: number;
  count: number;
}

/** The last requests of each app, for its developers to look at. */
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

/** How often an app has used what one user allowed it in one business, by scope and day. */
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

interface InvitationsTable {
  id: string;
  business_id: string;
  role: Role;
  /** Only an account with this address can accept it. */
  email: string;
  /** The link itself is shown once, and not kept. */
  token_hash: string;
  invited_by: string;
  created_at: number;
  expires_at: number;
  accepted_by: string | null;
  accepted_at: number | null;
  withdrawn_at: number | null;
}

interface PasskeysTable {
  id: string;
  /** As the authenticator calls it, in base64url. */
  credential_id: string;
  user_id: string;
  name: string;
  public_key: Uint8Array;
  counter: number;
  /** A JSON list. */
  transports: string;
  created_at: number;
  last_used_at: number | null;
}

/** At most one for each user: a new link replaces the last one. */
interface PasswordLinksTable {
  user_id: string;
  /** The link itself is shown once, and not stored. */
  token_hash: string;
  /** A hash of the user's address and password hash at the time: the link ends when either changes. */
  bound_to: string;
  creator_kind: 'user' | 'platform' | 'operator';
  creator_id: string | null;
  creator_name: string;
  /** The business whose owner made it; null for a link by the platform or an operator. */
  business_id: string | null;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}

/** WebAuthn challenges that were used, until they expire: each works once. */
interface UsedChallengesTable {
  id: string;
  expires_at: number;
}
