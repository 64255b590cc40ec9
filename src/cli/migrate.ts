import { readDatabaseUrl } from '../config.ts';
import { migrate } from '../storage/migrate.ts';
import { openStorage } from '../storage/open.ts';
import type { Command } from './command.ts';

export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'Bring the database up to date',
  options: {},
  async run(_, env) {
    const storage = await openStorage(readDatabaseUrl(env), 'migrating');
    try {
      return { applied: await migrate(storage) };
    } finally {
      await storage.close();
    }
  },
};
