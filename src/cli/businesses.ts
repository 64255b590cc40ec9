import { addBusiness, listBusinesses } from '../accounts/businesses.ts';
import { systemClock } from '../lib/clock.ts';
import { type Command, withStorage } from './command.ts';

export const businessCommands: Command[] = [
  {
    name: 'business add',
    summary: 'Add a business',
    options: { name: { value: 'NAME', help: 'What people call it', required: true } },
    run: (options, env) =>
      withStorage(env, ({ durable }) => addBusiness(durable, { name: options.text('name') }, systemClock())),
  },
  {
    name: 'business list',
    summary: 'List all businesses',
    options: {},
    run: (_, env) => withStorage(env, async ({ durable }) => ({ businesses: await listBusinesses(durable) })),
  },
];
