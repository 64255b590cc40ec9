import { SECOND } from '../lib/clock.ts';
import { inChunks } from '../storage/chunks.ts';
import { type Storage, StorageUnavailable } from '../storage/storage.ts';
import { type Grant, markUsed } from './grants.ts';

type Rotations = Pick<Grant, 'id' | 'rotation' | 'usedRotation'>;

/**
 * Remembers for which grants a token of the newest rotation has been used. No request waits for a write: uses are collected
 * in memory and stored once a second. If the process crashes before that, an old refresh token works for longer.
 */
export interface TokenUses {
  /** Call it after an access token was accepted. Does nothing if the use is stored already. */
  record(grant: Rotations, token: { rotation: number }): void;
  isCurrentUsed(grant: Rotations): boolean;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

const FLUSH_INTERVAL = SECOND;
/** More would take too much memory while the database is not available. */
const MAX_PENDING = 50_000;

/** The rotation that was used, by grant. An entry is removed when it is stored. */
type PendingUses = Map<string, number>;

export function createTokenUses(storage: Storage, report: (error: unknown) => void): TokenUses {
  const pending: PendingUses = new Map();
  let flushed = Promise.resolve();
  let isBusy = false;
  let isFailing = false;

  async function store(): Promise<void> {
    isBusy = true;
    const error = await storePending(storage, pending);
    if (error !== undefined && !isFailing) report(error);
    isFailing = error !== undefined;
    isBusy = false;
  }

  function flush(): Promise<void> {
    flushed = flushed.then(store);
    return flushed;
  }

  const timer = setInterval(() => {
    if (!isBusy) flush();
  }, FLUSH_INTERVAL).unref();
  return {
    record({ id, rotation, usedRotation }, token) {
      if (token.rotation < rotation || token.rotation <= usedRotation) return;
      const newest = pending.get(id) ?? 0;
      // A slower request may record an older rotation later.
      if (newest === 0 ? pending.size < MAX_PENDING : token.rotation > newest) pending.set(id, token.rotation);
    },
    isCurrentUsed: ({ id, rotation, usedRotation }) => Math.max(usedRotation, pending.get(id) ?? 0) >= rotation,
    flush,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}

/** Returns the last error. Entries stay pending if the database is unavailable; any other error would occur again. */
async function storePending(storage: Storage, pending: PendingUses): Promise<unknown> {
  let lastError: unknown;
  for (const chunk of inChunks([...pending])) {
    try {
      // One statement per row: a statement that locks several could deadlock with a revocation.
      await Promise.all(chunk.map(([id, rotation]) => markUsed(storage.relaxed, { id, rotation })));
    } catch (error) {
      lastError = error;
      if (error instanceof StorageUnavailable) break;
    }
    for (const [id, rotation] of chunk) if (pending.get(id) === rotation) pending.delete(id);
  }
  return lastError;
}
