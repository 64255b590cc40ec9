import type { BenchEnvironment } from './contender.ts';
import { createEngines, type Engine } from './databases.ts';
import { type FilledDatabase, fillInBackground } from './filling.ts';
import { contenderOfSize } from './growth.ts';
import { type Entry, type Measured, measureAll } from './measure.ts';
import type { Options } from './options.ts';
import { type Memory, measureMemory, timeStarts } from './overhead.ts';
import { PROFILE_DURATION, type Profile, takeProfile } from './profile.ts';
import type { Progress } from './progress.ts';
import { measureGrantSize, refreshOneGrant } from './refresh-chain.ts';
import { find, type Growth, type Results } from './results.ts';
import { measureRetention } from './retention.ts';
import { SCENARIOS } from './scenarios/all.ts';
import { findSlowed } from './verdicts.ts';

interface ExploreContext {
  options: Options;
  environment: BenchEnvironment;
  progress: Progress;
}

const MAX_GRANTS_FOR_SIZE = 100_000;
/** In seconds. */
const WARM_UP = 2.5;

/** On PostgreSQL a million requests would take too long. */
const SHARE_OF_REQUESTS = { sqlite: 1, postgres: 0.05 };

/** The measurements that only the full form has: start, memory, refresh chains, retention and growth, on each engine. */
export async function explore(results: Results, context: ExploreContext): Promise<void> {
  const { options, environment, progress } = context;
  const { amounts, connections } = options;
  const engines = createEngines(environment).filter((engine) =>
    options.contenders.some(({ name }) => name === `gatehouse-${engine.name}`),
  );
  progress.plan(engines.length * 170);
  for (const engine of engines) {
    progress.step(`Starting, ${engine.title}`, 10);
    results.starts.push(await timeStarts(engine));
  }
  const grown = await fillInBackground(engines, amounts.sizes, async () => {
    for (const engine of engines) results.memory.push(await measureServerMemory(engine, context));
    progress.step('Filling databases', 0);
  });
  const grants = Math.min(MAX_GRANTS_FOR_SIZE, Math.max(...amounts.sizes));
  for (const engine of engines) {
    progress.step(`Refreshing one grant, ${engine.title}`, 20);
    results.chains.push(await refreshOneGrant(engine, amounts.refreshes));
    progress.step(`Bytes per grant, ${engine.title}`, 20);
    results.bytes.push(await measureGrantSize(engine, grants));
    progress.step(`Retention under load, ${engine.title}`, 30);
    results.cleaning.push(await measureRetention(engine, { grants, expired: amounts.expired, connections }));
    results.growth.push(await measureGrowth(engine, grown.get(engine.name) ?? [], context));
  }
}

async function measureServerMemory(engine: Engine, { options, progress }: ExploreContext): Promise<Memory> {
  const requests = options.amounts.requests * SHARE_OF_REQUESTS[engine.name];
  progress.step(`Memory, ${engine.title}, while databases are being filled`, 90);
  const onProgress = (done: number) =>
    progress.step(
      `Memory after ${done.toLocaleString('en-GB')} requests, ${engine.title}, while databases are being filled`,
      0,
    );
  return measureMemory(engine, { requests, connections: options.connections, onProgress });
}

/** Ordered by scenario. */
export async function profileAll(
  entries: Entry[],
  measured: Measured[],
  { options, progress }: Omit<ExploreContext, 'environment'>,
): Promise<Profile[]> {
  const scenarios = SCENARIOS.filter(({ name }) => options.scenarios.includes(name));
  const runs = scenarios.flatMap((scenario) => entries.map((entry) => ({ ...entry, scenario })));
  progress.plan(runs.length * PROFILE_DURATION);
  const profiles: Profile[] = [];
  for (const run of runs) {
    progress.step(`Profile: ${run.contender.title}, ${run.scenario.title.toLowerCase()}`, PROFILE_DURATION);
    const cpu = find(measured, run.contender.name, run.scenario.name)?.cpu ?? null;
    profiles.push(await takeProfile(run, options.connections, cpu));
  }
  return profiles;
}

/** Runs one server per size; they alternate as contenders do. */
async function measureGrowth(
  engine: Engine,
  grown: FilledDatabase[],
  { options, environment, progress }: ExploreContext,
): Promise<Growth> {
  const entries: Entry[] = [];
  try {
    for (const database of grown) {
      const contender = contenderOfSize(database, engine.needsBothCores);
      progress.step(`Starting ${contender.title}, ${engine.title}`, 0);
      entries.push({ contender, running: await contender.start(environment) });
    }
    const warmUp = Math.min(WARM_UP, options.warmUp);
    const measured = await measureAll(entries, { ...options, warmUp, pacedSeconds: 0 }, progress);
    const extremes = [entries[0], entries.at(-1)].filter((entry) => entry !== undefined);
    const worst = findSlowed(measured);
    const slowed = { ...options, scenarios: worst ? [worst.scenario] : [] };
    const profiles = await profileAll(extremes, measured, { options: slowed, progress });
    return { engine: engine.name, measured, profiles };
  } finally {
    for (const { running } of entries) await running.stop();
  }
}
