import type { MigrateOptions, MigrateResult } from '../migrate.ts';
import type { Migration } from '../migrations/migration.ts';
import type { Database, Storage } from '../storage.ts';
import { type Lease, withLease } from './lease.ts';
import { awaitMissingNodes, listOlderNodes, type RunningNode } from './nodes.ts';
import { runStep } from './postgres-steps.ts';
import { findProgress, recordStart, withdrawStart } from './progress.ts';
import { pendingOf, readState } from './state.ts';
import { titleOf } from './statements.ts';

/** In order: a migration that waits for nodes to stop keeps the later ones waiting. */
export async function upgradePostgres(storage: Storage, options: Required<MigrateOptions>): Promise<MigrateResult> {
  const { durable } = storage;
  const { migrations, onProgress } = options;
  return withLease(
    durable,
    () => onProgress('waiting for another `gatehouse migrate` to end'),
    async (lease) => {
      const pending = pendingOf(await readState(durable), migrations);
      const applied: string[] = [];
      for (const [index, migration] of pending.entries()) {
        const olderNodes = await start(durable, migration, options);
        const waiting = pending.slice(index).map(({ name }) => name);
        if (olderNodes.length > 0) return { applied, waiting, olderNodes };
        await runSteps(storage, lease, migration, onProgress);
        applied.push(migration.name);
      }
      return { applied, waiting: [], olderNodes: [] };
    },
  );
}

/**
 * Lists the migration as begun, unless there are nodes for which it has to wait. A node that starts meanwhile is listed
 * before it checks for migrations, so at least one of the two sees the other.
 */
async function start(
  db: Database,
  migration: Migration,
  { ignoresOlderNodes, missedHeartbeatPolls: polls, onProgress }: Required<MigrateOptions>,
): Promise<RunningNode[]> {
  const checksNodes = migration.phase === 'contract' && !ignoresOlderNodes;
  const findNodes = async () => (checksNodes ? await listOlderNodes(db, migration.name) : []);
  const before = await findNodes();
  if (before.length > 0) return before;
  const returned = checksNodes ? await awaitMissingNodes(db, migration.name, { polls, onProgress }) : [];
  if (returned.length > 0) return returned;
  await recordStart(db, migration);
  const after = await findNodes();
  if (after.length > 0) await withdrawStart(db, migration);
  return after;
}

async function runSteps(
  storage: Storage,
  lease: Lease,
  migration: Migration,
  onProgress: (message: string) => void,
): Promise<void> {
  const { name, steps } = migration;
  const begun = await findProgress(storage.durable, name);
  for (const [index, step] of steps.entries()) {
    if (index < (begun?.step ?? 0)) continue;
    const label = `${name}, step ${index + 1} of ${steps.length}`;
    onProgress(`${label}: ${titleOf(step)}`);
    await runStep({ storage, lease, migration, onProgress: (text) => onProgress(`${label}: ${text}`) }, step, index);
  }
}
