import { after } from 'node:test';
import { openStorage } from '../../src/storage/open.ts';
import { databaseUrl, TEMPLATE } from './databases.ts';
import { createFixtures } from './fixtures.ts';
import { createTemplate, startPostgres } from './postgres-server.ts';

/** The fixtures in a migrated database of a PostgreSQL server, which is removed after the tests. */
export async function startPostgresFixtures() {
  const server = await startPostgres();
  await createTemplate(server.url);
  const storage = await openStorage(databaseUrl(server.url, TEMPLATE));
  after(async () => {
    await storage.close();
    await server.remove();
  });
  return { storage, ...(await createFixtures(() => storage, Date.now)) };
}
