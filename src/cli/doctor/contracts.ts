import { listPending } from '../../storage/migrate.ts';
import { MIGRATIONS } from '../../storage/migrations/all.ts';
import type { Storage } from '../../storage/storage.ts';
import { listOlderNodes } from '../../storage/upgrade/nodes.ts';
import { type Finding, findingsAbout } from './finding.ts';

const { warning } = findingsAbout('database');

/** A release works without its contract migrations, so one that has not run is easily forgotten. */
export async function checkContracts(storage: Storage, migrations = MIGRATIONS): Promise<Finding[]> {
  const [contract] = (await listPending(storage, migrations)).filter(({ phase }) => phase === 'contract');
  if (!contract) return [];
  const { name } = contract;
  const nodes = storage.engine === 'postgres' ? await listOlderNodes(storage.durable, name) : [];
  if (nodes.length === 0) {
    return [
      warning(
        `${name} has not been applied, although no node of an older release is running.`,
        'Run: gatehouse migrate',
      ),
    ];
  }
  const count = nodes.length === 1 ? '1 node' : `${nodes.length} nodes`;
  const list = nodes.map((node) => `${node.name} (${node.release})`).join(', ');
  const fix = 'Replace those nodes, and then run: gatehouse migrate';
  return [warning(`${name} waits for ${count} of an older release: ${list}.`, fix)];
}
