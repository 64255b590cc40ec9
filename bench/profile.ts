import { runPeak } from './load.ts';
import { runUnpaused, type ScenarioRun, type ScenarioSetup, setUpScenario } from './measure.ts';
import { inspect } from './process.ts';
import { OTHER_THREADS, POSTGRES, partOf } from './profile-parts.ts';

/** CPU time of one scenario by part, in microseconds per iteration. */
export interface Profile {
  contender: string;
  scenario: string;
  parts: Record<string, number>;
}

const RUN_UP_SECONDS = 0.3;
const PROFILE_SECONDS = 0.6;
const SAMPLING_INTERVAL = 200;

/** In seconds, without the preparation of batches. */
export const PROFILE_DURATION = RUN_UP_SECONDS + PROFILE_SECONDS;

/**
 * V8's CPU profile of a warm server gives the shares of the parts; the total is that of the measured rounds, because the
 * machine may be slower during the profile.
 */
export async function takeProfile(run: ScenarioRun, count: number, cpu: number | null): Promise<Profile> {
  const { contender, scenario, running } = run;
  const setup = setUpScenario(run, count);
  try {
    const parts = scenario.isOffered(running) ? await runUnpaused(run, () => profileScenario(run, setup, cpu)) : {};
    return { contender: contender.name, scenario: scenario.name, parts };
  } finally {
    setup.close();
  }
}

async function profileScenario(
  { scenario, running }: ScenarioRun,
  { work, clients }: ScenarioSetup,
  cpu: number | null,
) {
  const { pid } = running;
  const postmaster = await running.findPostmaster?.();
  // Before the inspector adds threads.
  const unprofiled = await runPeak(work, clients, { seconds: scenario.share * RUN_UP_SECONDS, pid, postmaster });
  const inspector = await inspect(pid);
  await inspector.send('Profiler.enable');
  await inspector.send('Profiler.setSamplingInterval', { interval: SAMPLING_INTERVAL });
  await inspector.send('Profiler.start');
  const intervals: Interval[] = [];
  const profiled = {
    ...work,
    prepareBatch: (iterations: number) => excludeFromProfile(intervals, () => work.prepareBatch(iterations)),
  };
  const { iterations } = await runPeak(profiled, clients, { seconds: scenario.share * PROFILE_SECONDS, pid });
  intervals.at(-1)?.push(now());
  const { profile } = (await inspector.send('Profiler.stop')) as { profile: CpuProfile };
  inspector.close();
  const sums = sumUp(profile, intervals);
  const others = unprofiled.cpu === null ? 0 : unprofiled.cpuOfOthers / unprofiled.cpu;
  const own = distribute(sums, { total: cpu ?? sumOf(sums) / iterations, others });
  return { ...own, [POSTGRES]: unprofiled.cpuOfPostgres };
}

/** Distributes the CPU time of the main thread over the parts. */
function distribute(sums: Record<string, number>, { total, others }: { total: number; others: number }) {
  const each = ((1 - others) * total) / sumOf(sums);
  const parts = Object.entries(sums).map(([part, sum]) => [part, sum * each]);
  return { ...Object.fromEntries(parts), [OTHER_THREADS]: others * total };
}

function sumOf(sums: Record<string, number>): number {
  return Object.values(sums).reduce((all, sum) => all + sum, 0);
}

/** Start and end of a measurement, in microseconds of the profile's clock. */
type Interval = number[];

async function excludeFromProfile(intervals: Interval[], prepare: () => Promise<void>): Promise<void> {
  intervals.at(-1)?.push(now());
  await prepare();
  intervals.push([now()]);
}

function now(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

interface CpuProfile {
  startTime: number;
  nodes: ProfileNode[];
  samples: number[];
  timeDeltas: number[];
}

interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string };
  children?: number[];
}

function sumUp({ startTime, nodes, samples, timeDeltas }: CpuProfile, intervals: Interval[]): Record<string, number> {
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)));
  const partsById = new Map(nodes.map((node) => [node.id, partOf(node.callFrame, parents.get(node.id)?.callFrame)]));
  const sums: Record<string, number> = {};
  let [at, index] = [startTime, 0];
  samples.forEach((id, sample) => {
    const took = timeDeltas[sample] ?? 0;
    at += took;
    while (index < intervals.length && at > (intervals[index]?.[1] ?? 0)) index += 1;
    const part = partsById.get(id);
    if (part && at >= (intervals[index]?.[0] ?? Number.POSITIVE_INFINITY)) sums[part] = (sums[part] ?? 0) + took;
  });
  return sums;
}
