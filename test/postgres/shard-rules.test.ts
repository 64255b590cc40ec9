import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokenShardRule } from '../support/shard-rules.ts';

const REJECTED = [
  'select "id" from "grants" where "revoked_at" is null order by "expires_at" limit $1 for update skip locked',
  'insert into "events" ("id", "dispatched_at") values ($1, case when not exists (select "id" from "endpoints") then $2 end)',
  'select "a"."id" from "apps" as "a" where exists (select "id" from "grants" where "grants"."app_id" = "a"."id")',
  'update "apps" set "removable_at" = $1 where "id" in (select "app_id" from "grants")',
  'select * from "grants" left join "revoked_access_tokens" as "revoked" on "revoked"."rotation" = "grants"."rotation"',
];

const ACCEPTED = [
  'select * from "grants" where "business_id" = $1 and "id" = $2 and "revoked_at" is null for update',
  'select "id" from "mails" where "due_at" <= $1 for update skip locked',
  'update "grants" set "revoked_at" = $1 where "id" in (select "id" from "grants" where "app_id" = $2)',
  'select * from "grants" left join "revoked_access_tokens" as "revoked" on "revoked"."grant_id" = "grants"."id"',
];

test('the rules for sharded grants find what Citus rejects, and nothing else', () => {
  assert.deepEqual(
    REJECTED.filter((sql) => brokenShardRule(sql) === undefined),
    [],
  );
  assert.deepEqual(
    ACCEPTED.filter((sql) => brokenShardRule(sql) !== undefined),
    [],
  );
});
