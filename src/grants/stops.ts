import {
  type AliasableExpression,
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  type SqlBool,
  sql,
} from 'kysely';
import type { InactiveReason } from '../http/errors.ts';
import { preparedQuery } from '../storage/prepared-query.ts';
import type { Database } from '../storage/storage.ts';
import type { Tables } from '../storage/tables.ts';

/**
 * A stop ends every grant of an app, of an app in a business, or of a user, however many there are: it increments a counter. A grant
 * has a copy of its counters from when it was created, as their sum, and is active while the sum is the same. Counters, not times: the
 * clocks of nodes differ.
 *
 * Code that creates a grant reads the sum first, and then checks for the last time what allows it. If a stop is committed in between, the
 * sum is out of date, and the new grant is inactive.
 */
export type Stopped =
  | { appId: string; businessId?: never; userId?: never }
  | { appId: string; businessId: string; userId?: never }
  | { userId: string; appId?: never; businessId?: never };

/** In place of an id. */
const ANY = '00000000-0000-0000-0000-000000000000';

/** Needs a transaction, which has to be short: all grants that it concerns wait for it. */
export async function stop(
  tx: Database,
  { appId = ANY, businessId = ANY, userId = ANY }: Stopped,
  reason: InactiveReason,
  now: number,
): Promise<void> {
  await increment(tx, { appId, businessId, userId, reason, now });
}

type Increment = Record<'appId' | 'businessId' | 'userId', string> & { reason: InactiveReason; now: number };

const increment = preparedQuery((db, { appId, businessId, userId, reason, now }: Increment) =>
  db
    .insertInto('stops')
    .values({ app_id: appId, business_id: businessId, user_id: userId, count: 1, reason, stopped_at: now })
    .onConflict((conflict) =>
      conflict.columns(['app_id', 'business_id', 'user_id']).doUpdateSet(({ eb, ref }) => ({
        count: eb('stops.count', '+', 1),
        reason: ref('excluded.reason'),
        stopped_at: now,
      })),
    ),
);

interface Parties {
  appId: string;
  businessId: string;
  userId: string;
}

/** What a new grant and a new consent copy. Ending the tokens of an app leaves consents as they are. */
export interface Counters {
  ofGrant: number;
  ofConsent: number;
}

export async function readCounters(db: Database, parties: Parties): Promise<Counters> {
  const { rows } = await readStops(db, parties);
  const sum = (stops: { count: number }[]) => stops.reduce((total, { count }) => total + count, 0);
  return { ofGrant: sum(rows), ofConsent: sum(rows.filter((row) => row.business_id !== ANY || row.user_id !== ANY)) };
}

const readStops = preparedQuery((db, { appId, businessId, userId }: Parties) =>
  db
    .selectFrom('stops')
    .select(['count', 'business_id', 'user_id'])
    .where(({ or, and }) =>
      or([
        and({ app_id: appId, business_id: ANY, user_id: ANY }),
        and({ app_id: appId, business_id: businessId, user_id: ANY }),
        and({ app_id: ANY, business_id: ANY, user_id: userId }),
      ]),
    ),
);

/** How often all grants of the user were ended. */
export function selectCount(db: Database, userId: string | Expression<string>) {
  return db
    .selectFrom('stops')
    .select(({ fn, lit }) => fn.coalesce(fn.max('count'), lit(0)).as('count'))
    .where('app_id', '=', ANY)
    .where('business_id', '=', ANY)
    .where('user_id', '=', userId);
}

/** The names under which the counters of a grant or consent are joined. */
export type StopTables = Record<'app_stop' | 'pair_stop' | 'user_stop', Tables['stops']>;
type Stop = keyof StopTables;

/** The condition of a join of `stops` with grants or consents. */
export function isStopOf(kind: Stop, table: 'grants' | 'consents'): Expression<SqlBool> {
  const { eb, and, ref } = expressionBuilder<StopTables & Tables, Stop | 'grants' | 'consents'>();
  const other = sql.lit(ANY);
  return and([
    eb(`${kind}.app_id`, '=', kind === 'user_stop' ? other : ref(`${table}.app_id`)),
    eb(`${kind}.business_id`, '=', kind === 'pair_stop' ? ref(`${table}.business_id`) : other),
    eb(`${kind}.user_id`, '=', kind === 'user_stop' ? ref(`${table}.user_id`) : other),
  ]);
}

/** The sum of these counters now. */
export function currentStops(kinds: readonly Stop[]): AliasableExpression<number> {
  const { eb, fn, lit } = expressionBuilder<StopTables, Stop>();
  const [first, ...others] = kinds.map((kind) => fn.coalesce(`${kind}.count`, lit(0)));
  return others.reduce<AliasableExpression<number>>((sum, count) => eb(sum, '+', count), first ?? lit(0));
}

/** Why the last of the stops of a grant took place. */
export function lastStopReason(): Expression<string | null> {
  const builder: ExpressionBuilder<StopTables, Stop> = expressionBuilder();
  const { and, case: choose, fn, lit, ref, eb } = builder;
  const at = (kind: Stop) => fn.coalesce(`${kind}.stopped_at`, lit(0));
  return choose()
    .when(and([eb(at('user_stop'), '>=', at('pair_stop')), eb(at('user_stop'), '>=', at('app_stop'))]))
    .then(ref('user_stop.reason'))
    .when(eb(at('pair_stop'), '>=', at('app_stop')))
    .then(ref('pair_stop.reason'))
    .else(ref('app_stop.reason'))
    .end();
}
