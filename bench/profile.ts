import { runPeak } from './load.ts';
import { type Act, perform, type Stage, setStage } from './measure.ts';
import { inspect } from './process.ts';
import { OTHER_THREADS, POSTGRES, partOf } from './profile-parts.ts';

/** Where the time of one scenario goes: microseconds of CPU time in each turn. */
export interface Profile {
  contender: string;
  scenario: string;
  parts: Record<string, number>;
}

const RUN_UP = 0.3;
const SPELL = 0.6;
const INTERVAL = 200;

/** So long it takes, in seconds, but for what is made meanwhile. */
export const PROFILE_TAKES = RUN_UP + SPELL;

/**
 * V8's own CPU profile of a server that has been measured before, and so is warm. It says how the CPU time of a turn is
 * shared out; how much that is was found in many rounds, and a machine may be slower in the moment of the profile.
 */
export async function takeProfile(act: Act, count: number, cpu: number | null): Promise<Profile> {
  const { contender, scenario, running } = act;
  const stage = setStage(act, count);
  try {
    const parts = scenario.isOffered(running) ? await perform(act, () => watch(act, stage, cpu)) : {};
    return { contender: contender.name, scenario: scenario.name, parts };
  } finally {
    stage.clear();
  }
}

async function watch({ scenario, running }: Act, { work, lanes }: Stage, cpu: number | null) {
  const { pid } = running;
  const postmaster = await running.findPostmaster?.();
  // Before there are threads that watch.
  const unwatched = await runPeak(work, lanes, { seconds: scenario.share * RUN_UP, pid, postmaster });
  const inspector = await inspect(pid);
  await inspector.ask('Profiler.enable');
  await inspector.ask('Profiler.setSamplingInterval', { interval: INTERVAL });
  await inspector.ask('Profiler.start');
  const stretches: Stretch[] = [];
  const watched = { ...work, stock: (turns: number) => outside(stretches, () => work.stock(turns)) };
  const { turns } = await runPeak(watched, lanes, { seconds: scenario.share * SPELL, pid });
  stretches.at(-1)?.push(now());
  const { profile } = (await inspector.ask('Profiler.stop')) as { profile: CpuProfile };
  inspector.leave();
  const sums = sumUp(profile, stretches);
  const others = unwatched.cpu === null ? 0 : unwatched.cpuOfOthers / unwatched.cpu;
  const own = shareOut(sums, { total: cpu ?? sumOf(sums) / turns, others });
  return { ...own, [POSTGRES]: unwatched.cpuOfPostgres };
}

/** The total among the parts; of it, the share that is not the first thread's is none of theirs. */
function shareOut(sums: Record<string, number>, { total, others }: { total: number; others: number }) {
  const each = ((1 - others) * total) / sumOf(sums);
  const parts = Object.entries(sums).map(([part, sum]) => [part, sum * each]);
  return { ...Object.fromEntries(parts), [OTHER_THREADS]: others * total };
}

function sumOf(sums: Record<string, number>): number {
  return Object.values(sums).reduce((all, sum) => all + sum, 0);
}

/** When something was measured, from and until, in microseconds of the clock that the profile has, too. */
type Stretch = number[];

async function outside(stretches: Stretch[], stock: () => Promise<void>): Promise<void> {
  stretches.at(-1)?.push(now());
  await stock();
  stretches.push([now()]);
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

function sumUp({ startTime, nodes, samples, timeDeltas }: CpuProfile, stretches: Stretch[]): Record<string, number> {
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)));
  const partsById = new Map(nodes.map((node) => [node.id, partOf(node.callFrame, parents.get(node.id)?.callFrame)]));
  const sums: Record<string, number> = {};
  let [at, place] = [startTime, 0];
  samples.forEach((id, sample) => {
    const took = timeDeltas[sample] ?? 0;
    at += took;
    while (place < stretches.length && at > (stretches[place]?.[1] ?? 0)) place += 1;
    const part = partsById.get(id);
    if (part && at >= (stretches[place]?.[0] ?? Number.POSITIVE_INFINITY)) sums[part] = (sums[part] ?? 0) + took;
  });
  return sums;
}
