import type { Migration } from './migration.ts';

/**
 * Which access tokens of a rotation are revoked. The key stays the rotation, because nodes of 0.2.0 and older name it in `on conflict`. They
 * reject all tokens of the rotation, as before, and leave the new columns empty. If they revoke a token of a row that a newer node wrote,
 * they set `expires_at` to its expiry, which is later than `listed_at`.
 */
export const revokedTokens: Migration = {
  name: '008-revoked-tokens',
  phase: 'expand',
  steps: [
    {
      kind: 'change',
      title: 'add revoked_access_tokens.tokens and listed_at',
      table: 'revoked_access_tokens',
      async change(db, { time }) {
        await db.schema.alterTable('revoked_access_tokens').addColumn('tokens', 'text').execute();
        await db.schema.alterTable('revoked_access_tokens').addColumn('listed_at', time).execute();
      },
    },
  ],
};
