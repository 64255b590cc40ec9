import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Contender, Setting } from './contender.ts';
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

/** The CPU profile that V8 takes of the whole process, cut to the time in which it was warm and at work. */
export async function takeProfile(
  contender: Contender,
  scenario: Scenario,
  { setting, lanes }: { setting: Setting; lanes: number },
): Promise<Profile> {
  const folder = mkdtempSync(join(setting.folder, 'profile-'));
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${INTERVAL}`];
  const running = await contender.start({ ...setting, folder, flags });
  const open = Array.from({ length: lanes }, openLane);
  const work = scenario.prepare(running, open);
  await runPeak(work, open, { seconds: WARM_UP, pid: running.pid });
  const stretches: Stretch[] = [];
  const watched = { ...work, stock: () => outside(stretches, work.stock) };
  const { turns } = await runPeak(watched, open, { seconds: SPELL, pid: running.pid });
  stretches.at(-1)?.push(now());
  for (const lane of open) lane.close();
  process.kill(running.pid, 'SIGTERM');
  while (readdirSync(folder).every((name) => !name.endsWith('.cpuprofile'))) await setTimeout(50);
  await running.stop();
  const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
  const parts = sumUp(JSON.parse(readFileSync(join(folder, file), 'utf8')), stretches);
  for (const name of Object.keys(parts)) parts[name] = (parts[name] ?? 0) / turns;
  return { contender: contender.name, scenario: scenario.name, parts };
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
