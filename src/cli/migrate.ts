import { readDatabaseUrl } from '../config/settings.ts';
import { upgrade } from '../storage/migrate.ts';
import { openStorage } from '../storage/open.ts';
import type { Storage } from '../storage/storage.ts';
import type { RunningNode } from '../storage/upgrade/nodes.ts';
import { type PlannedStep, planUpgrade } from '../storage/upgrade/plan.ts';
import { type Command, requireDatabase } from './command.ts';

export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'Create or migrate the tables of the database, while nodes of the previous release serve',
  options: {
    plan: { help: 'Change nothing: list the steps, with the size of the table, the lock and an estimate of the time' },
    contract: {
      help: 'Also remove what only older releases need, even if nodes of an older release seem to be running',
    },
  },
  examples: ['--plan'],
  async run(options, env) {
    const isPlan = options.flag('plan');
    if (isPlan) requireDatabase(env);
    const storage = await openStorage(readDatabaseUrl(env), 'migrating');
    try {
      return await (isPlan ? plan(storage) : migrate(storage, options.flag('contract')));
    } finally {
      await storage.close();
    }
  },
  format: (result) => ('steps' in result ? formatPlan(result as Plan) : formatResult(result as Result)),
};

async function plan(storage: Storage) {
  const { steps, seconds, olderNodes } = await planUpgrade(storage);
  return { steps, seconds, older_nodes: olderNodes };
}

async function migrate(storage: Storage, ignoresOlderNodes: boolean) {
  const onProgress = (message: string) => console.error(message);
  const { applied, waiting, olderNodes } = await upgrade(storage, { ignoresOlderNodes, onProgress });
  return { applied, waiting, older_nodes: olderNodes };
}

type Plan = Awaited<ReturnType<typeof plan>>;
type Result = Awaited<ReturnType<typeof migrate>>;

function formatResult({ applied, waiting, older_nodes }: Result): string {
  const done = applied.length > 0 ? `Applied: ${applied.join(', ')}.` : 'The database is up to date.';
  return waiting.length === 0 ? done : `${done}\n${explainWaiting(waiting, older_nodes)}`;
}

function explainWaiting(waiting: string[], olderNodes: RunningNode[]): string {
  const nodes = olderNodes.map(({ name, release }) => `${name} (${release})`).join(', ');
  return `Waiting for nodes of an older release to stop: ${nodes}.
Not applied yet: ${waiting.join(', ')}. When these nodes are replaced, run migrate again.`;
}

function formatPlan({ steps, seconds, older_nodes }: Plan): string {
  if (steps.length === 0) return 'The database is up to date.';
  const lines = steps.map((step, index) => formatStep(step, steps[index - 1]?.migration !== step.migration));
  const waiting = [...new Set(steps.filter(({ waits }) => waits).map(({ migration }) => migration))];
  const total = `About ${formatTime(seconds)} in total. Nodes keep serving.`;
  return [...lines, '', total, ...(waiting.length > 0 ? [explainWaiting(waiting, older_nodes)] : [])].join('\n');
}

function formatStep({ migration, phase, title, table, rows, bytes, lock, seconds }: PlannedStep, isFirst: boolean) {
  const heading = isFirst ? `${migration} (${phase})\n` : '';
  const size = bytes > 0 ? `, ${Math.ceil(bytes / 1024 / 1024).toLocaleString('en-GB')} MB` : '';
  const on = table === null ? 'new tables' : `${table}: ${rows.toLocaleString('en-GB')} rows${size}`;
  return `${heading}  ${title}\n    ${on}; about ${formatTime(seconds)}\n    lock: ${table === null ? 'only on new tables' : lock}`;
}

function formatTime(seconds: number): string {
  if (seconds < 120) return `${seconds < 10 ? seconds.toFixed(1) : Math.ceil(seconds)} s`;
  return `${Math.ceil(seconds / 60)} minutes`;
}
