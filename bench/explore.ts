import { measureCleaning } from './cleaning.ts';
import type { Setting } from './contender.ts';
import { type Engine, enginesOf } from './databases.ts';
import { grownContender } from './growth.ts';
import { refreshOneGrant, weighGrants } from './long-life.ts';
import { type Entry, type Measured, measureAll } from './measure.ts';
import type { Options } from './options.ts';
import { measureOverhead } from './overhead.ts';
import { PROFILE_TAKES, type Profile, takeProfile } from './profile.ts';
import type { Progress } from './progress.ts';
import { find, type Growth, type Results } from './results.ts';
import { SCENARIOS } from './scenarios/all.ts';

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

/** What the full form has beyond the scenarios: growth, a long life, clean-up and overhead, on each of the chosen engines. */
export async function explore(results: Results, exploring: Exploring): Promise<void> {
  const { options, setting, progress } = exploring;
  const { amounts, lanes } = options;
  const engines = enginesOf(setting).filter(({ name }) => options.contenders.includes(`gatehouse-${name}`));
  progress.plan(engines.length * 200);
  for (const engine of engines) {
    const requests = amounts.requests * SHARE_OF_REQUESTS[engine.name];
    progress.step(`Starting and memory, ${engine.title}`, 60);
    const onProgress = (done: number) =>
      progress.step(`Memory after ${done.toLocaleString('en-GB')} requests, ${engine.title}`, 0);
    results.overhead.push(await measureOverhead(engine, { requests, lanes, onProgress }));
    progress.step(`One grant, refreshed over and over, ${engine.title}`, 20);
    results.chains.push(await refreshOneGrant(engine, amounts.refreshes));
    progress.step(`Bytes for each grant, ${engine.title}`, 20);
    results.bytes.push(await weighGrants(engine, Math.min(WEIGHED, Math.max(...amounts.sizes))));
    progress.step(`Cleaning up while serving, ${engine.title}`, 30);
    const grants = Math.min(WEIGHED, Math.max(...amounts.sizes));
    results.cleaning.push(await measureCleaning(engine, { grants, dead: amounts.dead, lanes }));
    results.growth.push(await measureGrowth(engine, exploring));
  }
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
async function measureGrowth(engine: Engine, { options, setting, progress }: Exploring): Promise<Growth> {
  const entries: Entry[] = [];
  try {
    for (const size of options.amounts.sizes) {
      progress.step(`Filling a database with ${size.toLocaleString('en-GB')} grants, ${engine.title}`, 20);
      const contender = grownContender(size, engine.needsBothCores, engine.newUrl);
      entries.push({ contender, running: await contender.start(setting) });
    }
    const warmUp = Math.min(WARM_UP, options.warmUp);
    const measured = await measureAll(entries, { ...options, warmUp, pacedSpell: 0 }, progress);
    const ends = [entries[0], entries.at(-1)].filter((entry) => entry !== undefined);
    return { engine: engine.name, measured, profiles: await profileAll(ends, measured, { options, progress }) };
  } finally {
    for (const { running } of entries) await running.stop();
  }
}
