import { profileTable, round, scenariosOf, table } from './report.ts';
import { find, type Growth, type Results } from './results.ts';
import { sizesOf, titleOfEngine } from './verdicts.ts';

const MEGABYTE = 1024 * 1024;

export function reportGrowth({ growth }: Results): string {
  if (growth.length === 0) return '';
  return `## As the database grows

Iterations per second with this many grants in the database, with users, businesses and apps in proportion, inserted in random order; and the share
of the throughput at the smallest size. Tokens, users and businesses are chosen at random. The sizes take turns.
PostgreSQL has everything in its cache beforehand, as after some time of service; on SQLite, Gatehouse caches 16 MB, and the
rest comes from the page cache of the system.

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

Where the CPU time goes in the scenario that loses most, in microseconds per iteration, with ${round(sizes[0] ?? 0)} / ${round(sizes.at(-1) ?? 0)} grants:

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
  const cleaningRows = cleaning.map(({ engine, expired, seconds, during, after }) => [
    titleOfEngine(engine),
    round(expired),
    `${seconds.toFixed(1)} s`,
    `${round(during.perSecond)} (${during.latency.p99.toFixed(1)} ms)`,
    `${round(after.perSecond)} (${after.latency.p99.toFixed(1)} ms)`,
  ]);
  return `## One grant, refreshed repeatedly

${table(['', 'refreshes', 'new rows', 'new rows of the request log', 'database'], chainRows)}

The request log of an app contains the last thousand requests and counts by the hour. It is bounded, and
no token depends on it.

## Bytes per active grant

The table of grants with its indexes, divided by the number of rows, after grants were added in order of time and each was refreshed
once (on SQLite the pages that \`dbstat\` counts; on PostgreSQL \`pg_total_relation_size\` after a vacuum).

${table(['', 'grants', 'bytes per grant'], byteRows)}

## Retention while serving

Expired grants are removed a few hundred at a time while the server runs. Refreshes per second (and the 99th percentile, with all
connections busy) during the removal, and after it.

${table(['', 'expired grants', 'removed after', 'meanwhile', 'afterwards'], cleaningRows)}`;
}

export function reportOverhead({ starts, memory }: Results): string {
  if (starts.length + memory.length === 0) return '';
  const startRows = starts.map(({ engine, ready }) => [
    titleOfEngine(engine),
    `${round(ready.median)} ms`,
    `${round(ready.min)}–${round(ready.max)} ms`,
  ]);
  const memoryRows = memory.map(({ engine, idleBytes, requests, bytesAfter }) => [
    titleOfEngine(engine),
    megabytes(idleBytes),
    `${megabytes(bytesAfter)} after ${round(requests)}`,
  ]);
  return `## Start time and memory

From starting \`serve\` to the first 200 of \`/readyz\`: the median of five, with minimum and maximum.

${table(['', 'median', 'range'], startRows)}

Resident memory of the process, idle and after many requests (refreshes, invoice lists and introspections alternating).

${table(['', 'idle', 'after requests'], memoryRows)}`;
}

function megabytes(bytes: number | null): string {
  return bytes === null ? 'unknown' : `${round(bytes / MEGABYTE)} MB`;
}
