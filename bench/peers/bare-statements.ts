/**
 * Exactly the statements of Gatehouse in each scenario; `test/bench/bare.test.ts` compares them. The same statements and
 * nothing else are the upper limit of what Node and SQLite can do.
 */
const APP = 'select * from "apps" where "deleted_at" is null and "id" = ?';

const GRANT_COLUMNS = `"grants"."id", "grants"."salt", "grants"."app_id", "grants"."user_id", "grants"."business_id", "grants"."connected_for", "grants"."scopes", "grants"."withdrawn_scopes", "grants"."expires_at", "grants"."resource", "grants"."redirect_uri", "grants"."code_challenge", "grants"."created_at", "grants"."code_expires_at", "grants"."exchanged_at", "grants"."rotation", "grants"."used_rotation", "grants"."rotated_at", "grants"."removable_on", "apps"."allowed_scopes", "apps"."external_client_id", case when "revoked"."listed_at" = "revoked"."expires_at" then "revoked"."tokens" when "revoked"."rotation" is not null then 'all' end as "revoked_tokens", case when not "grants"."revoked_at" is null then "grants"."revoked_reason" when not "grants"."stops" = coalesce("app_stop"."count", 0) + coalesce("pair_stop"."count", 0) + coalesce("user_stop"."count", 0) then case when (coalesce("user_stop"."stopped_at", 0) >= coalesce("pair_stop"."stopped_at", 0) and coalesce("user_stop"."stopped_at", 0) >= coalesce("app_stop"."stopped_at", 0)) then "user_stop"."reason" when coalesce("pair_stop"."stopped_at", 0) >= coalesce("app_stop"."stopped_at", 0) then "pair_stop"."reason" else "app_stop"."reason" end when not ("grants"."expires_at" is null or "grants"."expires_at" > ?) then 'grant_expired' when not "apps"."deleted_at" is null then 'app_deleted' when not "apps"."paused_at" is null then 'app_paused' when not "apps"."disabled_at" is null then 'app_disabled' when not ("apps"."owner_business_id" is null or "apps"."open_to_any_business" = 1 or "apps"."owner_business_id" = "grants"."business_id") then 'app_closed' when not "disabled"."disabled_at" is null then 'user_disabled' when not "memberships"."created_at" is not null then 'member_removed' end as "inactive_reason"`;

export const ANY = '00000000-0000-0000-0000-000000000000';

const pairAndUserStops = (table: string) =>
  `left join "stops" as "pair_stop" on ("pair_stop"."app_id" = "${table}"."app_id" and "pair_stop"."business_id" = "${table}"."business_id" and "pair_stop"."user_id" = '${ANY}') left join "stops" as "user_stop" on ("user_stop"."app_id" = '${ANY}' and "user_stop"."business_id" = '${ANY}' and "user_stop"."user_id" = "${table}"."user_id")`;

const STOPS = `left join "stops" as "app_stop" on ("app_stop"."app_id" = "grants"."app_id" and "app_stop"."business_id" = '${ANY}' and "app_stop"."user_id" = '${ANY}') ${pairAndUserStops('grants')}`;

const GRANT_TABLES = `from "grants" left join "apps" on "apps"."id" = "grants"."app_id" left join "users" as "disabled" on "disabled"."id" = "grants"."user_id" and "disabled"."disabled_at" is not null left join "memberships" on "memberships"."business_id" = "grants"."business_id" and "memberships"."user_id" = "grants"."user_id" and "memberships"."created_at" <= "grants"."created_at" ${STOPS} left join "revoked_access_tokens" as "revoked" on "revoked"."grant_id" = "grants"."id" and "revoked"."rotation" = ?`;

const CLIENT_COLUMNS = `"client"."external_client_id" as "client_external_id", "client"."is_public" as "client_is_public", case when ("client"."owner_scope" = 'platform' and "client"."is_public" = 0 and "client"."disabled_at" is null and "client"."paused_at" is null) then 1 else 0 end as "client_is_first_party", "app_secrets"."id" as "secret_id", "app_secrets"."secret_hash" as "secret_hash", "app_secrets"."last_used_at" as "secret_used_at"`;

const CONSENT = `select "consents"."scopes", "consents"."declined", "consents"."connected_for", "consents"."expires_at" from "consents" inner join "memberships" on "memberships"."user_id" = "consents"."user_id" and "memberships"."business_id" = "consents"."business_id" and "memberships"."created_at" <= "consents"."allowed_at" ${pairAndUserStops('consents')} where "consents"."stops" = coalesce("pair_stop"."count", 0) + coalesce("user_stop"."count", 0) and ("consents"."expires_at" is null or "consents"."expires_at" > ?) and "consents"."user_id" = ? and "consents"."app_id" = ? and "consents"."business_id" = ?`;

const REVOKED = 'select ? as "grantId", ? as "appId", ? as "businessId", ? as "userId"';

const addEvent = (data: string) =>
  `insert into "events" ("id", "type", "app_id", "business_id", "data", "created_at", "dispatched_at") select ? as "id", ? as "type", "changed"."appId" as "app_id", "changed"."businessId" as "business_id", ${data} as "data", ? as "created_at", case when not exists (select "endpoints"."id" from "endpoints" where "endpoints"."app_id" = "changed"."appId") then cast(? as bigint) end as "dispatched_at" from "changed"`;

export const STATEMENTS = {
  app: APP,
  useSecret: 'update "app_secrets" set "last_used_at" = ? where "id" = ?',
  grant: `select ${GRANT_COLUMNS} ${GRANT_TABLES} where "grants"."id" = ?`,
  clientAndGrant: `select ${GRANT_COLUMNS}, ${CLIENT_COLUMNS} ${GRANT_TABLES} inner join "apps" as "client" on "client"."id" = ? and "client"."deleted_at" is null left join "app_secrets" on "app_secrets"."app_id" = "client"."id" where "grants"."id" = ?`,
  markExchanged:
    'update "grants" set "exchanged_at" = ?, "rotated_at" = ?, "refresh_expires_at" = ?, "removable_on" = ?, "redirect_uri" = ?, "code_challenge" = ? where "id" = ? and "exchanged_at" is null and "revoked_at" is null',
  rotate:
    'update "grants" set "rotation" = ?, "exchanged_at" = ?, "rotated_at" = ?, "refresh_expires_at" = ? where "id" = ? and "rotation" = ? and "revoked_at" is null',
  invoices:
    'select "id", "number", "status", "total", "currency", "customer_id" as "customerId", "issue_date" as "issueDate", "due_date" as "dueDate", "subtotal", "tax", "amount_paid" as "amountPaid", "amount_due" as "amountDue", "created_at" as "createdAt", "updated_at" as "updatedAt" from "invoices" where "business_id" = ? order by "id" desc limit ? + 0',
  session:
    'select *, case when (exists (select "user_id" from "authenticator_apps" where "user_id" = "users"."id") or (exists (select "id" from "platform_settings" where "requires_second_factor" = 1) or exists (select "businesses"."id" from "memberships" inner join "businesses" on "businesses"."id" = "memberships"."business_id" where "memberships"."user_id" = "users"."id" and "businesses"."requires_second_factor" = 1))) then 1 else 0 end as "needs_second_factor" from "sessions" inner join "users" on "users"."id" = "sessions"."user_id" where "sessions"."id_hash" = ? and "sessions"."expires_at" > ?',
  touchSession: 'update "sessions" set "last_seen_at" = ?, "expires_at" = ? where "id_hash" = ?',
  memberships:
    'select "memberships"."user_id" as "userId", "memberships"."business_id" as "businessId", "businesses"."name" as "businessName", "memberships"."role" as "role", "memberships"."created_at" as "since" from "memberships" inner join "businesses" on "businesses"."id" = "memberships"."business_id" where "memberships"."user_id" = ? order by "businesses"."name"',
  appRules:
    'select "memberships"."role", "own"."who" as "ownWho", "own"."reserves_sensitive" as "ownReserves", "platform"."who" as "platformWho", "platform"."reserves_sensitive" as "platformReserves", "platform"."is_binding" as "isBinding", "approval"."status", "approval"."scopes", "approval"."reason" as "blockReason", "request"."status" as "requestStatus", "request"."approved_scopes" as "personalScopes", "request"."reason" as "refusalReason", "request"."requested_at" as "requestedAt" from "memberships" left join "app_policies" as "own" on "own"."business_id" = "memberships"."business_id" left join "platform_app_policy" as "platform" on true left join "app_approvals" as "approval" on "approval"."business_id" = "memberships"."business_id" and "approval"."app_id" = ? left join "app_requests" as "request" on "request"."business_id" = "memberships"."business_id" and "request"."user_id" = "memberships"."user_id" and "request"."app_id" = ? where "memberships"."user_id" = ? and "memberships"."business_id" = ?',
  lockBusiness: 'select "id" from "businesses" where "id" = ?',
  consent: CONSENT,
  stops:
    'select "count", "business_id", "user_id" from "stops" where (("app_id" = ? and "business_id" = ? and "user_id" = ?) or ("app_id" = ? and "business_id" = ? and "user_id" = ?) or ("app_id" = ? and "business_id" = ? and "user_id" = ?))',
  lockSession: 'select "id_hash" from "sessions" where "id_hash" = ?',
  isRepeat: 'select "count" from "audit_repeats" where "key" = ? and "window_start" > ?',
  countRepeat:
    'insert into "audit_repeats" ("key", "window_start", "count") values (?, ?, ?) on conflict ("key") do update set "count" = case when "audit_repeats"."window_start" <= ? then 1 else "audit_repeats"."count" + ? end, "window_start" = case when "audit_repeats"."window_start" <= ? then ? else "audit_repeats"."window_start" end returning "count"',
  thousandthGrant:
    'select "id" from "grants" where "business_id" = ? and "app_id" = ? and "user_id" = ? and "revoked_at" is null limit 1 offset 999',
  unrevokedGrant:
    'select "id" from "grants" where "business_id" = ? and "app_id" = ? and "user_id" = ? and "revoked_at" is null limit 1',
  addGrant:
    'insert into "grants" ("id", "salt", "app_id", "user_id", "business_id", "connected_for", "scopes", "expires_at", "resource", "redirect_uri", "code_challenge", "created_at", "code_expires_at", "rotation", "removable_on", "stops") values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict ("id") do nothing returning "app_id" as "appId", "business_id" as "businessId"',
  addCreatedEvent: `with "changed" as (select ? as "appId", ? as "businessId") ${addEvent('?')}`,
  addRevokedEvent: `with "changed" as (${REVOKED}) ${addEvent(`cast(json_object('grantId', "changed"."grantId", 'userId', "changed"."userId", 'reason', cast(? as text)) as text)`)}`,
  addEntry:
    'insert into "audit_entries" ("id", "at", "action", "actor_kind", "actor_id", "person_id", "actor_name", "actor_email", "address", "business_id", "subject_kind", "subject_id", "subject_name", "detail") values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  addRevokedEntry: `with "changed" as (${REVOKED}) insert into "audit_entries" ("id", "at", "action", "actor_kind", "actor_id", "person_id", "actor_name", "actor_email", "address", "business_id", "subject_kind", "subject_id", "subject_name", "detail") select ? as "id", ? as "at", ? as "action", ? as "actor_kind", "changed"."appId" as "actor_id", "changed"."appId" as "person_id", coalesce("apps"."name", ?) as "actor_name", ? as "actor_email", ? as "address", "changed"."businessId" as "business_id", ? as "subject_kind", "changed"."appId" as "subject_id", coalesce("apps"."name", ?) as "subject_name", cast(json_object('user', coalesce("users"."name", ?)) as text) as "detail" from "changed" left join "apps" on "apps"."id" = "changed"."appId" and "apps"."deleted_at" is null left join "users" on "users"."id" = "changed"."userId"`,
  endGrant:
    'update "grants" set "revoked_at" = ?, "revoked_reason" = ? where "revoked_at" is null and "id" = ? returning "id" as "grantId", "app_id" as "appId", "business_id" as "businessId", "user_id" as "userId"',
  begin: 'begin immediate',
  savepoint: 'savepoint work',
  release: 'release work',
  commit: 'commit',
} as const;
