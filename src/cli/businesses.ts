import { addBusiness, listBusinesses } from '../accounts/businesses.ts';
import { OPERATOR } from '../audit/entries.ts';
import { systemClock } from '../lib/clock.ts';
import { type Command, withStorage } from './command.ts';

export const businessCommands: Command[] = [
  {
    name: 'business add',
    summary: 'Add a business',
    options: { name: { value: 'NAME', help: 'The name of the business', required: true } },
    run: (options, env) =>
      withStorage(env, ({ durable }) => addBusiness(OPERATOR, durable, { name: options.text('name') }, systemClock())),
  },
  {
    name: 'business list',
    summary: 'List all businesses',
    options: {},
    run: (_, env) => withStorage(env, async ({ durable }) => ({ businesses: await listBusinesses(durable) })),
  },
];
