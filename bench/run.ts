import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../test/support/postgres-server.ts';
import type { BenchEnvironment, Contender } from './contender.ts';
import { bare } from './contenders/bare.ts';
import { gatehouseOnPostgres, gatehouseOnSqlite } from './contenders/gatehouse.ts';
import { loadOtherCheckout, nameOfOther } from './contenders/other-checkout.ts';
import { explore, profileAll } from './explore.ts';
import { type Entry, measureAll } from './measure.ts';
import { HELP, type Options, readOptions, UsageError } from './options.ts';
import { PINNING, pinMyself } from './process.ts';
import { createProgress } from './progress.ts';
import { publish } from './publish.ts';
import { reportProfiles } from './report.ts';
import { createResults } from './results.ts';
import { printTables, printVerdicts } from './tables.ts';

/** Peers are not profiled. */
const PROFILED: Contender[] = [gatehouseOnSqlite, gatehouseOnPostgres, bare];

/** A quarter of the memory, as PostgreSQL's documentation advises. The default is 128 MB. */
const SHARED_BUFFERS_MB = Math.floor(totalmem() / 4 / 1024 / 1024);

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const cleanUps: (() => unknown)[] = [];
  const runCleanUps = async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, async () => {
      await runCleanUps();
      process.exit(130);
    });
  }
  try {
    const options = readOptions(args);
    if (options) await bench(options, args, (cleanUp) => cleanUps.push(cleanUp));
    else console.log(HELP);
    return 0;
  } catch (error) {
    console.error(error instanceof UsageError ? `${error.message}\n\n${HELP}` : explain(error));
    return 1;
  } finally {
    await runCleanUps();
  }
}

function explain(error: unknown): unknown {
  return error instanceof Error && error.cause ? `\n${error.message}` : error;
}

/** Registers a function that runs when the benchmark ends, also after an error. The last one runs first. */
type OnExit = (cleanUp: () => unknown) => void;

async function bench(options: Options, args: string[], onExit: OnExit): Promise<void> {
  const own = options.contenders;
  const other = options.beside === undefined ? [] : await loadOtherCheckout(options.beside);
  const chosen = [...own, ...other.filter(({ name }) => own.some((each) => name === nameOfOther(each)))];
  const environment = createEnvironment(options, onExit);
  // PostgreSQL uses both cores, so it is started before this process is pinned to one.
  if (chosen.some(({ needsBothCores }) => needsBothCores)) await environment.postgresUrl();
  pinMyself();
  const results = createResults(options, args, chosen);
  const progress = createProgress();
  console.error(`${options.connections} connections; ${PINNING}.`);
  const entries: Entry[] = [];
  for (const contender of chosen) {
    progress.step(`Starting ${contender.title}`, 0);
    const running = await contender.start(environment);
    onExit(() => running.stop());
    entries.push({ contender, running });
  }
  results.measured = await measureAll(entries, options, progress);
  const profiled = entries.filter(({ contender }) => PROFILED.includes(contender));
  if (options.profiles) results.profiles = await profileAll(profiled, results.measured, { options, progress });
  for (const { running } of entries) await running.stop();
  progress.clear();
  console.log(printTables(results.measured, chosen));
  if (options.profiles) console.log(`\n${reportProfiles(results)}`);
  if (options.isFull) await explore(results, { options, environment, progress });
  progress.clear();
  console.log(`\n${printVerdicts(results)}`);
  if (!options.publishes) return;
  publish(results);
  console.error('Written: docs/performance.md, docs/performance/*.svg, bench/results/latest.json');
}

function createEnvironment({ connections }: Options, onExit: OnExit): BenchEnvironment {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  onExit(() => rmSync(folder, { recursive: true, force: true }));
  let postgres: Promise<string> | undefined;
  return {
    folder,
    users: connections,
    postgresUrl() {
      postgres ??= (async () => {
        const server = await startPostgres(['fsync=on', `shared_buffers=${SHARED_BUFFERS_MB}MB`]);
        onExit(() => server.remove());
        return server.url;
      })();
      return postgres;
    },
  };
}
