import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../test/support/ports.ts';
import type { Contender, Setting } from './contender.ts';
import { attach } from './inspector.ts';
import { runPeak } from './load.ts';
import { partOf } from './profile-parts.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { openLane } from './wire.ts';

/** Where the time of one scenario goes, in microseconds of each turn. */
export interface Profile {
  contender: string;
  scenario: string;
  parts: Record<string, number>;
}

const WARM_UP = 3;
const SPELL = 3;
const INTERVAL = 200;

/** V8's own CPU profile of a server that is warm, of the time in which it was measured. */
export async function takeProfile(
  contender: Contender,
  scenario: Scenario,
  { setting, lanes }: { setting: Setting; lanes: number },
): Promise<Profile> {
  const folder = mkdtempSync(join(setting.folder, 'profile-'));
  const port = await freePort();
  const running = await contender.start({ ...setting, folder, flags: [`--inspect=127.0.0.1:${port}`] });
  const open = Array.from({ length: lanes }, openLane);
  try {
    const work = scenario.prepare(running, open);
    await runPeak(work, open, { seconds: WARM_UP, pid: running.pid });
    const inspector = await attach(port);
    await inspector.ask('Profiler.enable');
    await inspector.ask('Profiler.setSamplingInterval', { interval: INTERVAL });
    await inspector.ask('Profiler.start');
    const stretches: Stretch[] = [];
    const watched = { ...work, stock: () => outside(stretches, work.stock) };
    const { turns } = await runPeak(watched, open, { seconds: SPELL, pid: running.pid });
    stretches.at(-1)?.push(now());
    const { profile } = (await inspector.ask('Profiler.stop')) as { profile: CpuProfile };
    inspector.leave();
    const sums = Object.entries(sumUp(profile, stretches)).map(([part, sum]) => [part, sum / turns]);
    return { contender: contender.name, scenario: scenario.name, parts: Object.fromEntries(sums) };
  } finally {
    for (const lane of open) lane.close();
    await running.stop();
  }
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
