import type { Generated } from 'kysely';

/** Apps, and what users have allowed them. */
export interface AppTables {
  apps: AppsTable;
  app_secrets: AppSecretsTable;
  app_logos: AppLogosTable;
  grants: GrantsTable;
  consents: ConsentsTable;
  stops: StopsTable;
  follow_ups: FollowUpsTable;
  revoked_access_tokens: RevokedAccessTokensTable;
  app_policies: AppPoliciesTable;
  platform_app_policy: PlatformAppPolicyTable;
  app_approvals: AppApprovalsTable;
  app_requests: AppRequestsTable;
  handovers: HandoversTable;
}

/** One for each connection of which another owner was asked to become responsible. */
interface HandoversTable {
  business_id: string;
  app_id: string;
  /** Who is responsible until the other owner accepts. */
  user_id: string;
  to_user_id: string;
  scopes: string;
  offered_at: number;
}

interface AppsTable {
  id: string;
  name: string;
  /** `external`: it is not registered here, and its row was created by the first Allow. */
  owner_scope: 'business' | 'platform' | 'external';
  owner_business_id: string | null;
  open_to_any_business: number;
  requires_pkce: number;
  /** It has no secret (RFC 6749 §2.1). */
  is_public: Generated<number>;
  /** The `client_id` of an external app, from which its id is derived. Null for a registered app: the id is its `client_id`. */
  external_client_id: string | null;
  /** Names separated by spaces, as in every column of scopes. */
  allowed_scopes: string;
  /** A JSON list. */
  redirect_uris: string;
  created_by: string | null;
  created_at: number;
  /** Set by its owner. */
  disabled_at: number | null;
  /** Set by the platform; its owner cannot undo it. */
  paused_at: number | null;
  deleted_at: number | null;
  /** When an external app may be removed, if nothing refers to it any more. Null for a registered app. */
  removable_at: number | null;
  publisher_name: string | null;
  homepage_url: string | null;
  support_url: string | null;
  privacy_url: string | null;
  terms_url: string | null;
  /** The `hash` of its row in `app_logos`. */
  logo_hash: string | null;
  /** When the platform verified who publishes it. */
  verified_at: number | null;
}

interface AppLogosTable {
  app_id: string;
  /** The hash of `bytes`. It is part of the address of the logo. */
  hash: string;
  type: 'image/png' | 'image/jpeg' | 'image/webp';
  bytes: Uint8Array;
}

interface AppSecretsTable {
  id: string;
  app_id: string;
  /** 1 or 2, unique per app: an app has at most two secrets. */
  slot: number;
  secret_hash: string;
  hint: string;
  created_at: number;
  last_used_at: number | null;
}

/** A connection for the business moves to another owner when its user leaves. One for the user ends. */
export type ConnectedFor = 'user' | 'business';

interface GrantsTable {
  id: string;
  salt: Uint8Array;
  app_id: string;
  /** The user under whose authority the app acts. */
  user_id: string;
  /** The user who allowed the app, if the grant has moved to another one since. */
  first_user_id: string | null;
  business_id: string;
  connected_for: Generated<ConnectedFor>;
  /** What the user allowed. Bits of access tokens refer to their order, so they never change. */
  scopes: string;
  /** The scopes that the user or an owner has withdrawn since. */
  withdrawn_scopes: Generated<string>;
  /** When the user wants it to end; null until they disconnect the app. */
  expires_at: number | null;
  /** The path below the issuer at which its tokens work. Null for the business API. */
  resource: string | null;
  /** The parameter of the authorize request; null if it was omitted. */
  redirect_uri: string | null;
  code_challenge: string | null;
  created_at: number;
  code_expires_at: number;
  exchanged_at: number | null;
  rotation: number;
  /** The newest rotation whose access token has been used. It may lag behind by a second. */
  used_rotation: Generated<number>;
  rotated_at: number | null;
  refresh_expires_at: number | null;
  revoked_at: number | null;
  revoked_reason: string | null;
  /** Days since 1970: in days, so that a refresh changes the index at most once a day. */
  removable_on: number;
  /** When its app was last notified that it is about to expire. */
  warned_at: number | null;
  /** The sum of its counters in `stops` when it was created. */
  stops: Generated<number>;
}

/** Counts how often all grants of an app, of an app in a business, or of a user were ended. The other ids are `ANY`. */
interface StopsTable {
  app_id: string;
  business_id: string;
  user_id: string;
  count: number;
  /** Of the last stop. */
  reason: string;
  stopped_at: number;
}

/** What remains to be done after a stop, in batches. */
interface FollowUpsTable {
  id: string;
  /** `end`: marks the rows of grants that are inactive. `notify`: only notifies apps of them. `limit`: ends those beyond the limit. */
  kind: 'end' | 'notify' | 'limit';
  /** Whose grants. */
  app_id: string | null;
  business_id: string | null;
  user_id: string | null;
  reason: string;
  /** How many grants are done. */
  done: Generated<number>;
  /** The last grant of the previous batch, with the column by which its index is sorted before the id, or other progress. */
  after_part: string | null;
  after_id: string | null;
  started_at: number;
}

interface ConsentsTable {
  user_id: string;
  app_id: string;
  business_id: string;
  connected_for: Generated<ConnectedFor>;
  scopes: string;
  /** Optional scopes that the user declined; consent does not ask for them again. */
  declined: string;
  allowed_at: number;
  /** When it no longer counts; null until the user disconnects the app. */
  expires_at: number | null;
  /** The sum of the counters in `stops` of the app in the business and of the user, when it was last changed. */
  stops: Generated<number>;
  /** Whether the app is external: how many of these a user and a business have is bounded. */
  is_external: Generated<number>;
}

interface RevokedAccessTokensTable {
  grant_id: string;
  rotation: number;
  /** A day later the row is removed. As `listed_at`, unless a node of 0.2.0 or older wrote the row: then the expiry of a token. */
  expires_at: number;
  /** Which access tokens of the rotation are revoked: their ids, separated by spaces, or `all`. */
  tokens: string | null;
  /** When the first of them was revoked. All tokens of the rotation are revoked if it differs from `expires_at`. */
  listed_at: number | null;
}

/** Who may connect apps to a business: anyone, apps that an owner approved, or owners and admins. */
export type WhoConnects = 'anyone' | 'approved' | 'admins';

/** What owners have decided. A business without a row follows the platform. */
interface AppPoliciesTable {
  business_id: string;
  who: WhoConnects;
  /** Whether only owners may allow scopes that concern staff or money. */
  reserves_sensitive: number;
}

/** One row, or none: then anyone connects apps, and owners may change that. */
interface PlatformAppPolicyTable {
  id: number;
  who: WhoConnects;
  reserves_sensitive: number;
  /** Whether owners cannot override it. */
  is_binding: number;
  /** Whether users choose when a connection ends: `free`, `none`, or the most days that they can choose. */
  ends: Generated<string>;
}

/** What owners have decided about an app, for everyone in the business. */
interface AppApprovalsTable {
  business_id: string;
  app_id: string;
  status: 'approved' | 'blocked';
  /** The approved scopes. */
  scopes: string;
  reason: string;
  decided_by: string | null;
  decided_at: number;
}

/** The request of one member for one app, and what an owner decided about it. */
interface AppRequestsTable {
  business_id: string;
  app_id: string;
  user_id: string;
  status: 'requested' | 'approved' | 'refused';
  scopes: string;
  /** The scopes that an owner approved for this member. They stay while a request for more waits. */
  approved_scopes: string;
  note: string;
  requested_at: number;
  reason: string;
  decided_by: string | null;
  decided_at: number | null;
}
