import { findBusiness } from '../accounts/businesses.ts';
import { listEntries } from '../audit/log.ts';
import { exportEntries, MAX_EXPORTED } from '../audit/search.ts';
import { readPlatformName } from '../config.ts';
import { FormError } from '../lib/errors.ts';
import { isId } from '../lib/ids.ts';
import type { Database } from '../storage/storage.ts';
import { type Command, type Options, printAll, required, withStorage } from './command.ts';

export const auditCommands: Command[] = [
  {
    name: 'audit export',
    summary: `Write the audit log as CSV, newest first, at most ${MAX_EXPORTED} entries`,
    options: {
      business: { value: 'ID', help: 'Only what the owners of this business see (default: everything)' },
      before: { value: 'ID', help: 'Continue after the entry with this id' },
    },
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
  return { tenant: businessId === undefined ? undefined : { businessId, platformName }, before };
}
