import { profileTable, round, scenariosOf, table } from './report.ts';
import { find, type Growth, type Results } from './results.ts';
import { sizesOf, titleOfEngine } from './verdicts.ts';

const MEGABYTE = 1024 * 1024;

export function reportGrowth({ growth }: Results): string {
  if (growth.length === 0) return '';
  return `## As the database grows

Turns per second with so many grants in the database, of people, businesses and apps in proportion, put in in no order; and the share
of the smallest size that is left. Tokens, people and businesses are taken from anywhere in it. The sizes take turns.
PostgreSQL has read all of it into memory beforehand, as one that has served for a while has; on SQLite, Gatehouse keeps 16 MB of it, and the
rest comes from the system.

${growth.map(reportEngine).join('\n\n')}

![Refreshes as the database grows](performance/growth.svg)`;
}

function reportEngine({ engine, measured, profiles }: Growth): string {
  const sizes = sizesOf(measured);
  const rows = scenariosOf({ measured }).map(({ name, title }) => {
    const medians = sizes.map((size) => find(measured, String(size), name)?.perSecond?.median ?? Number.NaN);
    const [first = Number.NaN] = medians;
    return [title, ...medians.map((median) => `${round(median)} (${(median / first).toFixed(2)} ×)`)];
  });
  const rates = table([titleOfEngine(engine), ...sizes.map((size) => `${round(size)} grants`)], rows);
  if (profiles.length === 0) return rates;
  return `${rates}

Where the CPU time goes in the scenario that loses most, in microseconds of each turn, with ${round(sizes[0] ?? 0)} / ${round(sizes.at(-1) ?? 0)} grants:

${profileTable(profiles)}`;
}

export function reportLongLife({ chains, bytes, cleaning }: Results): string {
  if (chains.length + bytes.length + cleaning.length === 0) return '';
  const chainRows = chains.map(({ engine, refreshes, newRows, newLogRows, bytesBefore, bytesAfter }) => [
    titleOfEngine(engine),
    round(refreshes),
    String(newRows),
    String(newLogRows),
    `${round(bytesBefore / 1024)} → ${round(bytesAfter / 1024)} kB`,
  ]);
  const byteRows = bytes.map(({ engine, grants, perGrant }) => [titleOfEngine(engine), round(grants), round(perGrant)]);
  const cleaningRows = cleaning.map(({ engine, dead, seconds, during, after }) => [
    titleOfEngine(engine),
    round(dead),
    `${seconds.toFixed(1)} s`,
    `${round(during.perSecond)} (${during.latency.p99.toFixed(1)} ms)`,
    `${round(after.perSecond)} (${after.latency.p99.toFixed(1)} ms)`,
  ]);
  return `## One grant, refreshed over and over

${table(['', 'refreshes', 'new rows', 'rows of the request log', 'database'], chainRows)}

The request log is what developers see of their app: the last thousand requests of each app and counts by the hour. It is bounded, and
no token depends on it.

## Bytes for each live grant

The table of grants and all of its indexes, divided by the rows: after grants were added in the order of time and each was refreshed
once (on SQLite the pages that \`dbstat\` counts; on PostgreSQL \`pg_total_relation_size\` after a vacuum).

${table(['', 'grants', 'bytes each'], byteRows)}

## Cleaning up while serving

Dead grants are removed a few hundred at a time for as long as the server runs. Refreshes per second (and what 99 of 100 stay below, all
connections always busy) while there is something to remove, and once there is nothing left.

${table(['', 'dead grants', 'gone after', 'meanwhile', 'afterwards'], cleaningRows)}`;
}

export function reportOverhead({ starts, memory }: Results): string {
  if (starts.length + memory.length === 0) return '';
  const startRows = starts.map(({ engine, ready }) => [
    titleOfEngine(engine),
    `${round(ready.median)} ms`,
    `${round(ready.least)}–${round(ready.most)} ms`,
  ]);
  const memoryRows = memory.map(({ engine, idleBytes, requests, bytesAfter }) => [
    titleOfEngine(engine),
    megabytes(idleBytes),
    `${megabytes(bytesAfter)} after ${round(requests)}`,
  ]);
  return `## Starting, and memory

From starting \`serve\` to the first 200 of \`/readyz\`: the median of five, and the least and the most.

${table(['', 'ready', 'between'], startRows)}

Resident memory of the process, idle and after many requests (refreshes, invoice lists and introspections by turns).

${table(['', 'idle', 'after requests'], memoryRows)}`;
}

function megabytes(bytes: number | null): string {
  return bytes === null ? 'unknown' : `${round(bytes / MEGABYTE)} MB`;
}
