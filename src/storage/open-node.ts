import { acceptKeys } from './known-keys.ts';
import { ensureMigrated } from './migrate.ts';
import { openSharedStorage, openStorage } from './open.ts';
import type { Storage, StorageError } from './storage.ts';
import { registerNode } from './upgrade/nodes.ts';

interface Node {
  databaseUrl: string;
  workers: number;
  /** The ids of its keys, the signing key first. */
  keyIds: readonly string[];
}

/**
 * The storage of a serving process: migrated, and listed among the running nodes until it is closed. Throws if the node's signing key is
 * unknown. Calls `onOutdated` if a newer release has contracted the schema nevertheless.
 */
export async function openNodeStorage(
  { databaseUrl, workers, keyIds }: Node,
  onOutdated: (error: StorageError) => void,
  now: number,
): Promise<Storage> {
  const storage = await (workers > 1 ? openSharedStorage : openStorage)(databaseUrl);
  try {
    await ensureMigrated(storage);
    await acceptKeys(storage.durable, keyIds, now);
    // SQLite has one node, which migrates it at its start.
    const leave = storage.engine === 'postgres' ? await registerNode(storage, onOutdated) : async () => {};
    return { ...storage, close: () => leave().then(() => storage.close()) };
  } catch (error) {
    await storage.close();
    throw error;
  }
}
