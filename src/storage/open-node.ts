import { ensureMigrated } from './migrate.ts';
import { openSharedStorage, openStorage } from './open.ts';
import type { Storage, StorageError } from './storage.ts';
import { registerNode } from './upgrade/nodes.ts';

/**
 * The storage of a serving process: migrated, and listed among the running nodes until it is closed. Calls `onOutdated` if a newer
 * release has contracted the schema nevertheless.
 */
export async function openNodeStorage(
  url: string,
  workers: number,
  onOutdated: (error: StorageError) => void,
): Promise<Storage> {
  const storage = await (workers > 1 ? openSharedStorage : openStorage)(url);
  try {
    await ensureMigrated(storage);
    // SQLite has one node, which migrates it at its start.
    const leave = storage.engine === 'postgres' ? await registerNode(storage, onOutdated) : async () => {};
    return { ...storage, close: () => leave().then(() => storage.close()) };
  } catch (error) {
    await storage.close();
    throw error;
  }
}
