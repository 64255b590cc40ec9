import { insertBusiness, listBusinesses } from '../accounts/businesses.ts';
import { OPERATOR, recordAudit } from '../audit/acts.ts';
import { systemClock } from '../lib/clock.ts';
import { type Command, withStorage } from './command.ts';

export const businessCommands: Command[] = [
  {
    name: 'business add',
    summary: 'Add a business',
    options: { name: { value: 'NAME', help: 'What people call it', required: true } },
    run: (options, env) =>
      withStorage(env, ({ transaction }) =>
        transaction(async (db) => {
          const now = systemClock();
          const business = await insertBusiness(db, { name: options.text('name') }, now);
          const subject = { kind: 'business', id: business.id, name: business.name } as const;
          await recordAudit(db, { action: 'business.added', actor: OPERATOR, businessId: business.id, subject }, now);
          return business;
        }),
      ),
  },
  {
    name: 'business list',
    summary: 'List all businesses',
    options: {},
    run: (_, env) => withStorage(env, async ({ durable }) => ({ businesses: await listBusinesses(durable) })),
  },
];
