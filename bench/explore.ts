import { measureCleaning } from './cleaning.ts';
import type { Setting } from './contender.ts';
import { type Engine, enginesOf } from './databases.ts';
import { fillMeanwhile, type Grown } from './filling.ts';
import { grownContender } from './growth.ts';
import { refreshOneGrant, weighGrants } from './long-life.ts';
import { type Entry, type Measured, measureAll } from './measure.ts';
import type { Options } from './options.ts';
import { type Memory, measureMemory, timeStarts } from './overhead.ts';
import { PROFILE_TAKES, type Profile, takeProfile } from './profile.ts';
import type { Progress } from './progress.ts';
import { find, type Growth, type Results } from './results.ts';
import { SCENARIOS } from './scenarios/all.ts';
import { findSlowed } from './verdicts.ts';

interface Exploring {
  options: Options;
  setting: Setting;
  progress: Progress;
}

const WEIGHED = 100_000;
/** In seconds: the three are the same program, but each process compiles it anew. */
const WARM_UP = 2.5;

/** On PostgreSQL a million would take most of the time that there is, and shows nothing that fewer do not. */
const SHARE_OF_REQUESTS = { sqlite: 1, postgres: 0.05 };

/** What the full form has beyond the scenarios: starts, memory, a long life, clean-up and growth, on each of the chosen engines. */
export async function explore(results: Results, exploring: Exploring): Promise<void> {
  const { options, setting, progress } = exploring;
  const { amounts, lanes } = options;
  const engines = enginesOf(setting).filter(({ name }) => options.contenders.includes(`gatehouse-${name}`));
  progress.plan(engines.length * 170);
  for (const engine of engines) {
    progress.step(`Starting, ${engine.title}`, 10);
    results.starts.push(await timeStarts(engine));
  }
  const grown = await fillMeanwhile(engines, amounts.sizes, async () => {
    for (const engine of engines) results.memory.push(await weighServer(engine, exploring));
    progress.step('Filling databases', 0);
  });
  const grants = Math.min(WEIGHED, Math.max(...amounts.sizes));
  for (const engine of engines) {
    progress.step(`One grant, refreshed over and over, ${engine.title}`, 20);
    results.chains.push(await refreshOneGrant(engine, amounts.refreshes));
    progress.step(`Bytes for each grant, ${engine.title}`, 20);
    results.bytes.push(await weighGrants(engine, grants));
    progress.step(`Cleaning up while serving, ${engine.title}`, 30);
    results.cleaning.push(await measureCleaning(engine, { grants, dead: amounts.dead, lanes }));
    results.growth.push(await measureGrowth(engine, grown.get(engine.name) ?? [], exploring));
  }
}

async function weighServer(engine: Engine, { options, progress }: Exploring): Promise<Memory> {
  const requests = options.amounts.requests * SHARE_OF_REQUESTS[engine.name];
  progress.step(`Memory, ${engine.title}, while databases are filled`, 90);
  const onProgress = (done: number) =>
    progress.step(
      `Memory after ${done.toLocaleString('en-GB')} requests, ${engine.title}, while databases are filled`,
      0,
    );
  return measureMemory(engine, { requests, lanes: options.lanes, onProgress });
}

/** One after the other in each scenario, so that they can be laid side by side. */
export async function profileAll(
  entries: Entry[],
  measured: Measured[],
  { options, progress }: Omit<Exploring, 'setting'>,
): Promise<Profile[]> {
  const scenarios = SCENARIOS.filter(({ name }) => options.scenarios.includes(name));
  const acts = scenarios.flatMap((scenario) => entries.map((entry) => ({ ...entry, scenario })));
  progress.plan(acts.length * PROFILE_TAKES);
  const profiles: Profile[] = [];
  for (const act of acts) {
    progress.step(`Profile: ${act.contender.title}, ${act.scenario.title.toLowerCase()}`, PROFILE_TAKES);
    const cpu = find(measured, act.contender.name, act.scenario.name)?.cpu ?? null;
    profiles.push(await takeProfile(act, options.lanes, cpu));
  }
  return profiles;
}

/** A server for each size, all at once, and their turns by rounds, as with contenders. */
async function measureGrowth(
  engine: Engine,
  grown: Grown[],
  { options, setting, progress }: Exploring,
): Promise<Growth> {
  const entries: Entry[] = [];
  try {
    for (const database of grown) {
      const contender = grownContender(database, engine.needsBothCores);
      progress.step(`Starting ${contender.title}, ${engine.title}`, 0);
      entries.push({ contender, running: await contender.start(setting) });
    }
    const warmUp = Math.min(WARM_UP, options.warmUp);
    const measured = await measureAll(entries, { ...options, warmUp, pacedSpell: 0 }, progress);
    const ends = [entries[0], entries.at(-1)].filter((entry) => entry !== undefined);
    const worst = findSlowed(measured);
    const slowed = { ...options, scenarios: worst ? [worst.scenario] : [] };
    const profiles = await profileAll(ends, measured, { options: slowed, progress });
    return { engine: engine.name, measured, profiles };
  } finally {
    for (const { running } of entries) await running.stop();
  }
}
