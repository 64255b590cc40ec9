import { ABOUT_PEERS } from './about-peers.ts';
import { type Measured, SLICE } from './measure.ts';
import type { Profile } from './profile.ts';
import { PART_TITLES } from './profile-parts.ts';
import { reportGrowth, reportLongLife, reportOverhead } from './report-growth.ts';
import { find, type Results } from './results.ts';
import { SCENARIOS } from './scenarios/all.ts';
import { describeSteadiness } from './steadiness.ts';
import { comparePostgres, judge, nameOf, ratioOf } from './verdicts.ts';

/** The text of docs/performance.md. */
export function writeReport(results: Results): string {
  const parts = [
    introduce(results),
    reportVerdicts(results),
    reportPeaks(results),
    reportContext(results),
    reportLatencies(results),
    reportCpu(results),
    reportProfiles(results),
    reportGrowth(results),
    reportLongLife(results),
    reportOverhead(results),
    reportMethod(results),
    describePeers(results),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function describePeers({ contenders }: Results): string {
  const described = ABOUT_PEERS.filter(
    ({ contender }) => !contender || contenders.some(({ name }) => name === contender),
  );
  return `## Features of the peers that Gatehouse lacks\n\n${described.map(({ title, text }) => `**${title}.** ${text}`).join('\n\n')}`;
}

function introduce(results: Results): string {
  const { date, machine, versions, command } = results;
  const parts = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const opening = open(results);
  return `# Performance
${opening && `\n${opening}\n`}
Made by \`${command}\` on ${date}; nothing here is written by hand. Every response of every server was checked: one wrong response
would have ended the run.

Machine: ${machine}. Versions: ${parts.join(', ')}.`;
}

/** One chart and one sentence. */
function open(results: Results): string {
  const multiples = comparePostgres(results);
  if (multiples.length === 0) return '';
  const list = multiples.map(({ title, ratio }) => `${ratio.toFixed(1)} × (${title.toLowerCase()})`);
  const last = list.pop();
  const sum = list.length > 0 ? `${list.join(', ')} and ${last}` : last;
  return `![Compared with oidc-provider on the same PostgreSQL](performance/overview.svg)

Both on the same PostgreSQL, with everything that they promise on disk, Gatehouse completes ${sum} as many requests a second as \`oidc-provider\`.`;
}

/** Servers that store nothing are not a goal: their tokens are lost at a restart. */
function reportContext(results: Results): string {
  const peers = IN_MEMORY.filter((peer) => results.contenders.some(({ name }) => name === peer));
  const rows = peers.flatMap((peer) =>
    OWN.filter((ours) => results.contenders.some(({ name }) => name === ours)).map((ours) => [
      `${nameOf(results, ours)} against ${nameOf(results, peer)}`,
      ...scenariosOf(results).map(({ name }) => ratioOf(results, ours, name, peer)?.toFixed(2) ?? '–'),
    ]),
  );
  if (rows.length === 0) return '';
  const head = ['', ...scenariosOf(results).map(({ title }) => title)];
  return `## Servers that store nothing\n\nFor context, and no goal: these keep everything in memory, and lose it at a restart. Multiples of their throughput.\n\n${table(head, rows)}`;
}

const OWN = ['gatehouse-sqlite', 'gatehouse-postgres'];
const IN_MEMORY = ['oidc-provider', 'jmondi'];

function reportVerdicts(results: Results): string {
  const verdicts = judge(results);
  if (verdicts.length === 0) return '';
  const rows = verdicts.map(({ what, wanted, found, isMet }) => [what, wanted, found, isMet ? 'yes' : '**no**']);
  const missing = verdicts.filter(({ isMet, why }) => !isMet && why).map(({ what, why }) => `- **${what}.** ${why}`);
  const reasons = missing.length > 0 ? ['Missed targets, and where the time goes instead:', missing.join('\n')] : [];
  const verdict = table(['', 'target', 'measured', 'met'], rows);
  return ['## Targets', verdict, ...reasons].join('\n\n');
}

function reportPeaks(results: Results): string {
  const cell = ({ perSecond }: Measured) =>
    perSecond ? `${round(perSecond.median)} <small>(${round(perSecond.min)}–${round(perSecond.max)})</small>` : '–';
  const charts = scenariosOf(results).map(({ name, title }) => `![${title}](performance/${name}.svg)`);
  return `## Throughput, per second

The median of ${results.rounds} rounds, with minimum and maximum. A dash: not offered.

${matrix(results, cell)}

${charts.join('\n\n')}`;
}

function reportLatencies(results: Results): string {
  const cell = ({ latency }: Measured) => (latency ? `${latency.median.toFixed(2)} / ${latency.p99.toFixed(2)}` : '–');
  const ratio = ({ latency }: Measured) => (latency ? (latency.p99 / latency.median).toFixed(1) : '–');
  return `## Latency

Milliseconds at 80 % of each contender's own peak, measured just before: the median and the 99th percentile, each the median
of all rounds. Requests arrive at random (open loop), and latency counts from when a request was due.

${matrix(results, cell)}

The 99th percentile as a multiple of the median. The bare server does almost nothing besides responding: a high multiple there is
noise of the machine. At 80 % of the peak, a pause of the server delays all requests of a period five times
as long. Noise of this machine: ${describeSteadiness(results.measured.flatMap(({ sameWork }) => sameWork))}.

${matrix(results, ratio)}`;
}

function reportCpu(results: Results): string {
  const cell = ({ cpu }: Measured) => (cpu === null ? '–' : round(cpu));
  return `## CPU time

Microseconds of CPU time of the server process per iteration, without that of PostgreSQL.

${matrix(results, cell)}`;
}

export function reportProfiles(results: Results): string {
  const { profiles } = results;
  if (profiles.length === 0) return '';
  const names = [...new Set(profiles.map(({ contender }) => nameOf(results, contender)))];
  return `## Where the time goes

The CPU time of each iteration, as above, in microseconds: ${names.join(' / ')}. The shares are from V8's CPU profile of the warm
server, which samples by wall-clock time: waiting for the disk is in the first line, so the others are a little too small. A peer that stores everything in memory has no time in the first two lines.
PostgreSQL runs in its own processes, whose time was measured separately and is in the last line.

${profileTable(profiles)}`;
}

/** One column per scenario. */
export function profileTable(profiles: Profile[]): string {
  const scenarios = scenariosOf({ measured: profiles });
  const cell = (scenario: string, sum: (parts: Record<string, number>) => number) =>
    profiles
      .filter((profile) => profile.scenario === scenario)
      .map(({ parts }) => round(sum(parts)))
      .join(' / ');
  const row = (title: string, sum: (parts: Record<string, number>) => number) => [
    title,
    ...scenarios.map(({ name }) => cell(name, sum)),
  ];
  const rows = PART_TITLES.map((part) => row(part, (parts) => parts[part] ?? 0));
  const total = row('**Total**', (parts) => Object.values(parts).reduce((sum, part) => sum + part, 0));
  return table(['', ...scenarios.map(({ title }) => title)], [...rows, total]);
}

function reportMethod({ connections, pinning, rounds, seconds, warmUp, measured }: Results): string {
  const busiest = Math.max(...measured.map(({ loadShare }) => loadShare ?? 0));
  const scenarios = SCENARIOS.map(({ title, description }) => `- **${title}**: ${description}.`);
  return `## Method

One process for each contender, ${pinning}; PostgreSQL has both cores, with fsync on and a quarter of the memory (\`shared_buffers\`), as its documentation advises. ${connections} connections over HTTP/1.1, with one request at a time
on each; the load generator used at most ${Math.round(busiest * 100)} % of its core. In each of ${rounds} rounds a scenario is run for ${seconds} s by each contender, in slices of about ${SLICE * 1000} ms: the
contenders take turns, in a different order each time, and the others are stopped (SIGSTOP) meanwhile. So a slow second of the machine affects all of them. Before that there are ${warmUp} s of warm-up. Codes and tokens
are created outside of the measured time, and each contender may finish background work (for at most 0.1 s) before it is measured; the load generator runs with \`--max-semi-space-size=64\` to collect garbage rarely. Every authorize request
carries a PKCE challenge. Gatehouse runs as \`serve\`, with its limits raised, since all of the load is one app from one
address, and with \`LOG_LEVEL=error\`, since no peer logs its requests. The configuration of each peer is in \`bench/peers\`.

${scenarios.join('\n')}`;
}

function matrix(results: Results, cell: (measured: Measured) => string): string {
  const scenarios = scenariosOf(results);
  const rows = results.contenders.map(({ name, title }) => [
    title,
    ...scenarios.map((scenario) => {
      const measured = find(results.measured, name, scenario.name);
      return measured ? cell(measured) : '–';
    }),
  ]);
  return table(['', ...scenarios.map(({ title }) => title)], rows);
}

export function scenariosOf({ measured }: { measured: { scenario: string }[] }) {
  return SCENARIOS.filter(({ name }) => measured.some(({ scenario }) => scenario === name));
}

export function table(head: string[], rows: string[][]): string {
  const lines = [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

export function round(number: number): string {
  return Math.round(number).toLocaleString('en-GB');
}
