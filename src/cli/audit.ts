import { findBusiness } from '../accounts/businesses.ts';
import { listEntries } from '../audit/log.ts';
import { exportEntries, MAX_EXPORTED } from '../audit/search.ts';
import { readPlatformName } from '../config/settings.ts';
import { DAY, parseDay } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { isId } from '../lib/ids.ts';
import type { Database } from '../storage/storage.ts';
import { type Command, type Options, printAll, required, withStorage } from './command.ts';
import { requireUser } from './user-option.ts';

export const auditCommands: Command[] = [
  {
    name: 'audit export',
    summary: `Write the audit log as CSV, newest first, at most ${MAX_EXPORTED} entries`,
    options: {
      business: { value: 'ID', help: 'Only what the owners of this business see (default: everything)' },
      person: {
        value: 'USER',
        help: 'Only what the user with this id or email address did, and failed sign-ins to their account',
      },
      from: { value: 'DATE', help: 'Only entries from this day on, like 2030-01-31 (UTC)' },
      to: { value: 'DATE', help: 'Only entries up to this day, inclusive (UTC)' },
      before: { value: 'ID', help: 'Continue after the entry with this id' },
    },
    examples: ['--person ada@example.com --from 2030-01-01', '--json'],
    run: (options, env) =>
      withStorage(env, async ({ durable }) => {
        const filter = await readFilter(durable, options, readPlatformName(env));
        if (options.flag('json')) return { entries: await listEntries(durable, { ...filter, limit: MAX_EXPORTED }) };
        await printAll(exportEntries(durable, filter));
        return undefined;
      }),
  },
];

async function readFilter(db: Database, options: Options, platformName: string) {
  const [businessId, before] = [options.text('business') || undefined, options.text('before') || undefined];
  if (businessId !== undefined) required(await findBusiness(db, businessId), 'business', 'business');
  if (before !== undefined && !isId(before))
    throw new FormError('before', 'Use the id of an entry, as in the exported file.');
  const user = options.text('person') === '' ? undefined : await requireUser(db, options, 'person');
  return {
    tenant: businessId === undefined ? undefined : { businessId, platformName },
    personId: user?.id,
    since: readDay(options, 'from'),
    until: readDay(options, 'to', DAY),
    before,
  };
}

/** The start of the day in UTC, plus `more`. */
function readDay(options: Options, name: 'from' | 'to', more = 0): number | undefined {
  const text = options.text(name);
  if (text === '') return undefined;
  const day = parseDay(text);
  if (day === undefined) throw new FormError(name, 'Use a date, like 2030-01-31.');
  return day + more;
}
