import { type Actor, recordAudit } from '../audit/entries.ts';
import { DAY } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { type Database, inTransaction } from '../storage/storage.ts';
import { storeEnds } from './app-policies.ts';

/** The lifetimes of a connection that users can choose, in days. */
export const END_DAYS = [1, 7, 30, 90] as const;
type EndDays = (typeof END_DAYS)[number];

/** What users choose from: anything, nothing (connections last until they are disconnected), or at most some days. */
export type EndPolicy = 'free' | 'none' | EndDays;

export async function readEndPolicy(db: Database): Promise<EndPolicy> {
  const row = await db.selectFrom('platform_app_policy').select('ends').executeTakeFirst();
  return parseEndPolicy(row?.ends ?? 'free') ?? 'free';
}

/** Undefined for any other text. */
export function parseEndPolicy(text: string): EndPolicy | undefined {
  if (text === 'free' || text === 'none') return text;
  return END_DAYS.find((days) => String(days) === text);
}

/** A platform admin or an operator decides which ends users can choose. Existing connections keep theirs. */
export async function changeEndPolicy(
  actor: Actor,
  db: Database,
  { ends, platformName }: { ends: EndPolicy; platformName: string },
  now: number,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    if ((await readEndPolicy(tx)) === ends) return;
    await storeEnds(tx, String(ends));
    const subject = { kind: 'platform', id: 'platform', name: platformName } as const;
    const detail = { ends: describe(ends) };
    await recordAudit(
      tx,
      { action: 'business.connection_ends_changed', actor, businessId: null, subject, detail },
      now,
    );
  });
}

function describe(ends: EndPolicy): string {
  if (ends === 'free') return 'as the user chooses';
  return ends === 'none' ? 'when it is disconnected' : `after ${ends} ${ends === 1 ? 'day' : 'days'} at the latest`;
}

/** An end that a user can choose, by the value of its field. */
export type EndChoice =
  | { value: 'disconnect' }
  | { value: string; days: EndDays }
  /** The end of the earlier consent. */
  | { value: string; keeps: number };

/** The first is the default. It never extends an earlier consent. With a single choice, the screen has no field. */
export function listEndChoices(policy: EndPolicy, earlierEnd: number | null): EndChoice[] {
  const keep: EndChoice[] = earlierEnd === null ? [] : [{ value: `keep-${earlierEnd}`, keeps: earlierEnd }];
  if (policy === 'none') return keep.length > 0 ? keep : [{ value: 'disconnect' }];
  const days: EndChoice[] = END_DAYS.map((days) => ({ value: String(days), days }));
  if (policy === 'free') return [...keep, { value: 'disconnect' }, ...days];
  const permitted = days.slice(0, END_DAYS.indexOf(policy) + 1);
  return [...keep, ...permitted.reverse()];
}

/** When a connection ends by the value of the field, null for never. The default if there is none. */
export function readEnd(choices: EndChoice[], value: string, now: number): number | null {
  const chosen = value === '' ? choices[0] : choices.find((choice) => choice.value === value);
  if (!chosen) throw new FormError('ends', (problems) => problems.endMissing);
  if ('keeps' in chosen) return chosen.keeps;
  return 'days' in chosen ? now + chosen.days * DAY : null;
}
