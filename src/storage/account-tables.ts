import type { Generated } from 'kysely';

/** Accounts, and the audit log of what is done with them and everything else. */
export interface AccountTables {
  users: UsersTable;
  businesses: BusinessesTable;
  memberships: MembershipsTable;
  sessions: SessionsTable;
  invitations: InvitationsTable;
  passkeys: PasskeysTable;
  used_challenges: UsedChallengesTable;
  authenticator_apps: AuthenticatorAppsTable;
  recovery_codes: RecoveryCodesTable;
  notices: NoticesTable;
  platform_settings: PlatformSettingsTable;
  password_links: PasswordLinksTable;
  mails: MailsTable;
  mail_links: MailLinksTable;
  audit_entries: AuditEntriesTable;
  audit_retention: AuditRetentionTable;
  audit_repeats: AuditRepeatsTable;
}

interface UsersTable {
  id: string;
  email: string;
  /** Unique: the same for addresses that look alike. */
  email_skeleton: string;
  email_verified_at: number | null;
  /** The business whose invitation created the account. */
  origin_business_id: string | null;
  name: string;
  /** Null until the user chooses one. */
  language: string | null;
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
  requires_second_factor: Generated<number>;
}

export type Role = 'owner' | 'admin' | 'member';

interface MembershipsTable {
  user_id: string;
  business_id: string;
  role: Role;
  created_at: number;
}

interface SessionsTable {
  /** The hash of the cookie's value. */
  id_hash: string;
  user_id: string;
  browser: string;
  address: string;
  signed_in_at: number;
  last_seen_at: number;
  expires_at: number;
  /** The second factor that the user has verified; null without one. */
  second_factor: Generated<SecondFactor | null>;
}

export type SecondFactor = 'authenticator app' | 'recovery code' | 'passkey';

interface InvitationsTable {
  id: string;
  business_id: string;
  role: Role;
  /** Only an account with this address can accept it. */
  email: string;
  /** The link itself is shown once, and not stored. */
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
  /** The authenticator's id of it, in base64url. */
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

/** WebAuthn challenges that were used, until they expire: each works once. */
interface UsedChallengesTable {
  id: string;
  expires_at: number;
}

/** At most one per user. */
interface AuthenticatorAppsTable {
  user_id: string;
  /** In base32, encrypted, and not hashed: it computes the codes. */
  secret: string;
  /** The time step of the last code that was used: each code works once. */
  used_step: number;
  added_at: number;
}

/** The codes that are left. */
interface RecoveryCodesTable {
  user_id: string;
  code_hash: string;
}

interface NoticesTable {
  id: string;
  user_id: string;
  kind: string;
  /** A JSON object of strings. */
  detail: string;
  at: number;
  /** 1 until its mail is queued. */
  mail_due: number;
}

/** One row. */
interface PlatformSettingsTable {
  id: number;
  requires_second_factor: Generated<number>;
}

/** At most one per user: a new link replaces the previous one. */
interface PasswordLinksTable {
  user_id: string;
  /** The link itself is shown once, and not stored. */
  token_hash: string;
  /** A hash of the user's address and password hash at the time: the link ends when either changes. */
  bound_to: string;
  creator_kind: 'user' | 'platform' | 'operator';
  creator_id: string | null;
  creator_name: string;
  /** The business whose owner created it; null for a link by the platform or an operator. */
  business_id: string | null;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}

/** One-time links that were sent by mail. There is at most one for each subject and purpose: a new link replaces the previous one. */
interface MailLinksTable {
  /** A user or an invitation; or a random id, for a request that named no account. So both take the same work. */
  subject_id: string;
  /**
   * `password`: to set a new password. `address`: to verify that an address is the user's own. `invitation`: to join.
   */
  purpose: 'password' | 'address' | 'invitation';
  token_hash: string;
  /** For users, a hash of their address and password hash at the time: the link ends when either changes. */
  bound_to: string;
  /** The address to verify. */
  email: string | null;
  created_at: number;
  expires_at: number;
  used_at: number | null;
}

/** A mail that waits, and for 30 days a record of one that was sent or given up. */
interface MailsTable {
  id: string;
  kind: string;
  /** What it is about, such as the reset of one account. At most one mail of a cause waits. */
  cause: string;
  /** The account that it concerns, if any. */
  user_id: string | null;
  /** Recipient, subject and body, encrypted, since links are secrets. Null once it is sent or given up. */
  content: string | null;
  attempts: number;
  created_at: number;
  /** Null if nothing is left to do. */
  due_at: number | null;
  claimed_until: number;
  give_up_at: number;
  sent_at: number | null;
}

/** Append-only. Only the retention job removes rows. */
interface AuditEntriesTable {
  id: string;
  at: number;
  action: string;
  actor_kind: 'user' | 'platform' | 'app' | 'operator' | 'anonymous';
  actor_id: string | null;
  /** The actor. For a failed sign-in, the user whose account it was. */
  person_id: string | null;
  /** The name at the time, like that of the subject. */
  actor_name: string;
  /** The address of a user. */
  actor_email: string | null;
  address: string | null;
  /** The business whose owners may see it; null if it concerns only the platform. */
  business_id: string | null;
  subject_kind: string;
  subject_id: string;
  subject_name: string;
  /** A JSON object of strings. */
  detail: string;
}

/** One row: the triggers of `audit_entries` let rows from before this time be removed. 0, except inside the retention job. */
interface AuditRetentionTable {
  removable_before: number;
}

/** How often something was repeated within a window that has one entry. */
interface AuditRepeatsTable {
  key: string;
  window_start: number;
  count: number;
}
