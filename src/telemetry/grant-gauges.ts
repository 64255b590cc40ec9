import type { Database } from '../storage/storage.ts';

/** What a row of `grants` is by itself: whether its app, user and membership still stand is another question. */
const GRANT_STATES = ['code_waiting', 'code_expired', 'live', 'expired', 'revoked'] as const;

type GrantState = (typeof GRANT_STATES)[number];
export type GrantCounts = Record<GrantState, number>;

/** A slice is read within a millisecond or two, so that nobody notices it. */
const SLICE = 1000;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/** Counts every grant, slice by slice in the order of their ids. Between two slices it rests; undefined if that said to stop. */
export async function countGrants(
  db: Database,
  rest: () => Promise<'go on' | 'stop'>,
  now: number,
): Promise<GrantCounts | undefined> {
  const counts: GrantCounts = { code_waiting: 0, code_expired: 0, live: 0, expired: 0, revoked: 0 };
  for (let after: string | undefined = BEFORE_ALL; after !== undefined; ) {
    const last = await findEndOfSlice(db, after);
    for (const { state, grants } of await countSlice(db, { after, last }, now)) counts[state] += Number(grants);
    if (last !== undefined && (await rest()) === 'stop') return undefined;
    after = last;
  }
  return counts;
}

/** Undefined if there is less than a slice left. */
async function findEndOfSlice(db: Database, after: string): Promise<string | undefined> {
  const query = db.selectFrom('grants').select('id').where('id', '>', after).orderBy('id');
  return (
    await query
      .offset(SLICE - 1)
      .limit(1)
      .executeTakeFirst()
  )?.id;
}

function countSlice(db: Database, { after, last }: { after: string; last: string | undefined }, now: number) {
  let slice = db.selectFrom('grants').where('id', '>', after);
  if (last !== undefined) slice = slice.where('id', '<=', last);
  return slice
    .select(({ eb, fn }) => [
      eb
        .case()
        .when('revoked_at', 'is not', null)
        .then('revoked')
        .when(eb.and([eb('exchanged_at', 'is', null), eb('code_expires_at', '>', now)]))
        .then('code_waiting')
        .when('exchanged_at', 'is', null)
        .then('code_expired')
        .when('refresh_expires_at', '>', now)
        .then('live')
        .else('expired')
        .end()
        .$castTo<GrantState>()
        .as('state'),
      fn.countAll<number>().as('grants'),
    ])
    .groupBy('state')
    .execute();
}
