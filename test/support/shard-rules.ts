import assert from 'node:assert/strict';
import { watchStatements } from '../../src/storage/statement-log.ts';

/**
 * Finds statements that Citus cannot plan after deploy/citus.sql has distributed `grants`.
 * `npx node scripts/citus.ts` runs them on a real Citus.
 */
const RULES: [message: string, breaks: (sql: string) => boolean][] = [
  [
    'locks rows of several shards',
    (sql) => / for (no key )?(update|share)|for key share/.test(sql) && readsGrants(sql) && !/"id" = \$\d/.test(sql),
  ],
  ['inserts with a subquery among its values', (sql) => /^insert into .* values \(.*\(select /.test(sql)],
  ['correlates a subquery with grants', (sql) => /exists \(select [^()]* from "grants"|\blateral\b/.test(sql)],
  [
    'changes another table by rows of grants',
    (sql) => /^(update|delete from) (?!"grants")/.test(sql) && /\bfrom "grants"/.test(sql),
  ],
  [
    'joins revoked tokens by another column than the grant',
    (sql) => /join "revoked_access_tokens"/.test(sql) && !/"grant_id" = "grants"\."id"/.test(sql),
  ],
];

const readsGrants = (sql: string) => /(from|join|update) "grants"/.test(sql);

/** A data-modifying CTE, which the server does not send to Citus. */
const isCombined = (sql: string) => /^with "changed" as \((insert|update|delete)/.test(sql);

export function brokenShardRule(sql: string): string | undefined {
  if (isCombined(sql)) return undefined;
  return RULES.find(([, breaks]) => breaks(sql))?.[0];
}

/** Watches the databases that are opened from now on. The returned function stops, and throws if a statement breaks a rule. */
export function watchShardRules(): () => void {
  const broken = new Set<string>();
  const stop = watchStatements(({ sql }) => {
    const rule = brokenShardRule(sql);
    if (rule) broken.add(`A statement ${rule}: ${sql}`);
  });
  return () => {
    stop();
    assert.deepEqual([...broken], []);
  };
}
