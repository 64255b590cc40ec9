import { after } from 'node:test';
import { openStorage } from '../../src/storage/open.ts';
import { databaseUrl, TEMPLATE, withLongConnectTimeout } from './databases.ts';
import { createFixtures } from './fixtures.ts';
import { createTemplate, startPostgres } from './postgres-server.ts';

/** The fixtures in a migrated database of a PostgreSQL server, which is removed after the tests. `portFor` can start a proxy. */
export async function startPostgresFixtures(portFor = async (port: number) => port) {
  const server = await startPostgres();
  await createTemplate(server.url);
  const port = await portFor(server.port);
  const url = databaseUrl(server.url, TEMPLATE).replace(`:${server.port}/`, `:${port}/`);
  const storage = await openStorage(withLongConnectTimeout(url));
  after(async () => {
    await storage.close();
    await server.remove();
  });
  return { storage, ...(await createFixtures(() => storage, Date.now)) };
}
