import { sql } from 'kysely';
import { systemClock } from '../../lib/clock.ts';
import { newId } from '../../lib/ids.ts';
import type { Migration } from './migration.ts';

/**
 * A connection has a limit of live grants. A follow-up looks for connections above it, and ends what is too much. A node of 0.2.0 or
 * older knows neither the limit nor follow-ups: what it creates counts at the next Allow on a newer node.
 */
export const connectionLimit: Migration = {
  name: '011-connection-limit',
  phase: 'expand',
  steps: [
    {
      kind: 'change',
      title: 'look for connections with too many grants',
      table: undefined,
      async change(db) {
        const { rows } = await sql`select id from grants limit 1`.execute(db);
        if (rows.length === 0) return;
        const now = systemClock();
        const values = sql`${newId(now)}, 'limit', 'connection_limit', ${now}`;
        await sql`insert into follow_ups (id, kind, reason, started_at) values (${values})`.execute(db);
      },
    },
  ],
};
