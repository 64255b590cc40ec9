import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Seed } from '../../bench/seed.ts';
import { databaseUrl, runAsAdmin, withLongConnectTimeout } from '../../test/support/databases.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { type Load, type LoadReport, startLoad } from './load.ts';
import { LOG_FLAGS, type LockWait, readLockWaits, sampleLocks } from './lock-waits.ts';
import { type CommandOutput, runCommand, startNode, type UpgradeNode } from './nodes.ts';
import { checkOut, createNextRelease, type Release } from './releases.ts';

export interface UpgradeOptions {
  from: Release;
  grants: number;
  /** How long the load runs before and after the upgrade, in milliseconds. */
  settle: number;
  flags: string[];
  onProgress(text: string): void;
}

export interface UpgradeReport extends LoadReport {
  /** Waits for locks of more than 100 ms, from PostgreSQL's log, while the load ran. */
  lockWaits: LockWait[];
  /** The longest wait that was sampled, in milliseconds. */
  longestSampledWait: number;
  plan: CommandOutput;
  expand: TimedCommand;
  contract: TimedCommand;
}

interface TimedCommand {
  applied: string[];
  waiting: string[];
  seconds: number;
}

/**
 * Upgrades two nodes of a release to the next one, under load: expand the schema while the old nodes serve, replace them one after the
 * other, contract.
 */
export async function upgradeUnderLoad(options: UpgradeOptions): Promise<UpgradeReport> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-upgrade-'));
  const old = checkOut(options.from, join(folder, 'old'));
  const next = createNextRelease(join(folder, 'next'));
  const postgres = await startPostgres([...LOG_FLAGS, ...options.flags]);
  const nodes: UpgradeNode[] = [];
  try {
    await runAsAdmin(postgres.url, ['create database upgrade']);
    const url = databaseUrl(postgres.url, 'upgrade');
    const seeded = await fillWith(old, url, options);
    for (let n = 0; n < 2; n++) nodes.push(await startNode('old', old, url));
    const locks = await sampleLocks(url);
    const load = startLoad(seeded, options.grants, [...nodes]);
    // The old release may not know the parameter.
    const changes = await changeReleases({ ...options, load, nodes, next, url: withLongConnectTimeout(url) });
    const report = await load.stop();
    const longestSampledWait = await locks.stop();
    const began = report.phases[0]?.began ?? 0;
    const lockWaits = readLockWaits(postgres.folder).filter(({ at }) => at >= began);
    return { ...report, ...changes, longestSampledWait, lockWaits };
  } finally {
    for (const node of nodes) node.kill();
    await postgres.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** With the old release's own modules, which know its tables. */
async function fillWith(old: string, url: string, { grants, onProgress }: UpgradeOptions): Promise<Seed> {
  onProgress(`filling a database with ${grants} grants`);
  const load = (file: string) => import(pathToFileURL(join(old, 'bench', file)).href);
  const { app } = await (await load('seed.ts')).seed(url, 1);
  const users = await (await load('fill.ts')).fill(url, { grants, appId: app.id, order: 'of time' });
  return { app, users };
}

interface Change extends UpgradeOptions {
  load: Load;
  nodes: UpgradeNode[];
  next: string;
  url: string;
}

async function changeReleases(change: Change) {
  const { load, nodes, next, url, settle, onProgress } = change;
  const enter = (phase: string) => {
    onProgress(phase);
    load.enter(phase);
  };
  await setTimeout(settle / 2);
  enter('before');
  await setTimeout(settle);
  const plan = await runCommand(next, ['migrate', '--plan'], url);
  enter('expand');
  const expand = await migrate(change, []);
  enter('replace the nodes');
  for (const index of nodes.keys()) await replaceNode(change, index);
  enter('contract');
  const contract = await migrate(change, []);
  enter('after');
  await setTimeout(settle);
  return { plan, expand, contract };
}

/** As a load balancer does: no new requests, SIGTERM, and the next release gets requests when it is ready. */
async function replaceNode({ load, nodes, next, url }: Change, index: number): Promise<void> {
  const old = nodes[index] as UpgradeNode;
  load.nodes = nodes.filter((node) => node !== old);
  await load.drained(old);
  const code = await old.stop();
  if (code !== 0) throw new Error(`An old node ended with ${code}.`);
  nodes[index] = await startNode('next', next, url);
  load.nodes = [...nodes];
}

async function migrate({ next, url, onProgress }: Change, options: string[]): Promise<TimedCommand> {
  const began = performance.now();
  const { code, stdout, stderr } = await runCommand(next, ['migrate', '--json', ...options], url);
  if (code !== 0) throw new Error(`migrate ended with ${code}: ${stderr}`);
  onProgress(stderr.trimEnd());
  const { applied, waiting = [] } = JSON.parse(stdout);
  return { applied, waiting, seconds: (performance.now() - began) / 1000 };
}
