import { type Measured, STINT } from './measure.ts';
import type { Profile } from './profile.ts';
import { PART_TITLES } from './profile-parts.ts';
import { reportGrowth, reportLongLife, reportOverhead } from './report-growth.ts';
import { find, type Results } from './results.ts';
import { SCENARIOS } from './scenarios/all.ts';
import { describeSteadiness } from './steadiness.ts';
import { judge, nameOf } from './verdicts.ts';
import { ABOUT_PEERS } from './words.ts';

/** docs/performance.md, whole: made of the results of one run. */
export function writeReport(results: Results): string {
  const parts = [
    introduce(results),
    reportVerdicts(results),
    reportPeaks(results),
    reportLatencies(results),
    reportCpu(results),
    reportProfiles(results),
    reportGrowth(results),
    reportLongLife(results),
    reportOverhead(results),
    reportMethod(results),
    `## What the peers do that Gatehouse does not\n\n${ABOUT_PEERS.map(({ title, text }) => `**${title}.** ${text}`).join('\n\n')}`,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function introduce({ date, machine, versions, command }: Results): string {
  const parts = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `# Performance

Made by \`${command}\` on ${date}; nothing here is written by hand. Every answer of every server was checked: one wrong answer
would have ended the run.

Machine: ${machine}. Versions: ${parts.join(', ')}.`;
}

function reportVerdicts(results: Results): string {
  const verdicts = judge(results);
  if (verdicts.length === 0) return '';
  const rows = verdicts.map(({ what, wanted, found, isMet }) => [what, wanted, found, isMet ? 'yes' : '**no**']);
  const missing = verdicts.filter(({ isMet, why }) => !isMet && why).map(({ what, why }) => `- **${what}.** ${why}`);
  const reasons = missing.length > 0 ? ['What is missing, and where the time goes instead:', missing.join('\n')] : [];
  const verdict = table(['', 'wanted', 'found', 'met'], rows);
  return ['## What should show, and whether it does', verdict, ...reasons].join('\n\n');
}

function reportPeaks(results: Results): string {
  const cell = ({ perSecond }: Measured) =>
    perSecond ? `${round(perSecond.median)} <small>(${round(perSecond.least)}–${round(perSecond.most)})</small>` : '–';
  const pictures = scenariosOf(results).map(({ name, title }) => `![${title}](performance/${name}.svg)`);
  return `## How much, per second

The median of ${results.rounds} rounds, and the least and the most. A dash: it does not offer that.

${matrix(results, cell)}

${pictures.join('\n\n')}`;
}

function reportLatencies(results: Results): string {
  const cell = ({ latency }: Measured) => (latency ? `${latency.median.toFixed(2)} / ${latency.p99.toFixed(2)}` : '–');
  const ratio = ({ latency }: Measured) => (latency ? (latency.p99 / latency.median).toFixed(1) : '–');
  return `## How long an answer takes

Milliseconds at four fifths of each contender's own peak, as it was a moment before: the median, and what 99 of 100 stay below, each the median
of all rounds. Requests come at random, whether or not the last is answered, and an answer counts from when its request was due.

${matrix(results, cell)}

How many times the median that is, for everyone. The bare server has next to nothing to do beside its answers: where it makes some wait
as long, that is the machine's doing. At four fifths of the peak, whatever holds a server up for a moment keeps all who come in five times
that moment waiting. How evenly this machine went: ${describeSteadiness(results.measured.flatMap(({ sameWork }) => sameWork))}.

${matrix(results, ratio)}`;
}

function reportCpu(results: Results): string {
  const cell = ({ cpu }: Measured) => (cpu === null ? '–' : round(cpu));
  return `## What it costs

Microseconds of CPU time of the server's own process for each turn; what PostgreSQL takes beside it is not in it.

${matrix(results, cell)}`;
}

export function reportProfiles(results: Results): string {
  const { profiles } = results;
  if (profiles.length === 0) return '';
  const names = [...new Set(profiles.map(({ contender }) => nameOf(results, contender)))];
  return `## Where the time goes

The CPU time of each turn, as above, in microseconds: ${names.join(' / ')}. How it is shared out is from V8's own CPU profile of the warm
server, whose samples are taken by the clock: waiting for the disk is in the first line, and the others are too small by it. A peer that keeps everything in memory has no time in the first two lines. What
PostgreSQL does it does in processes of its own, whose time is in the last line and was measured beside.

${profileTable(profiles)}`;
}

/** Those of one scenario stand beside each other. */
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
  const all = row('**Together**', (parts) => Object.values(parts).reduce((sum, part) => sum + part, 0));
  return table(['', ...scenarios.map(({ title }) => title)], [...rows, all]);
}

function reportMethod({ lanes, pinning, rounds, spell, warmUp, measured }: Results): string {
  const busiest = Math.max(...measured.map(({ loadShare }) => loadShare ?? 0));
  const scenarios = SCENARIOS.map(({ title, means }) => `- **${title}**: ${means}.`);
  return `## How it is measured

One process for each contender, ${pinning}; PostgreSQL has both cores, with fsync on and a quarter of the memory (\`shared_buffers\`), as its documentation advises. ${lanes} connections over HTTP/1.1, one request under way
on each; the load itself was at work for at most ${Math.round(busiest * 100)} % of the time. In each of ${rounds} rounds a scenario is run for ${spell} s by each contender, in stretches of about ${STINT * 1000} ms: one
after the other has its turn, beginning with another each time, and whoever is not at work is halted. So what slows the machine down for a second slows everyone. Before that come ${warmUp} s that do not count. Codes and tokens
are made on nobody's time, and each contender is left to finish what that, or a halt, has put off (for at most a tenth of a second) before it is measured; the load has room enough to tidy up rarely (\`--max-semi-space-size=64\`). Every authorize request
carries a PKCE challenge. Gatehouse runs as \`serve\`, with its limits raised, since all of the load is one app from one
address, and with \`LOG_LEVEL=error\`, since no peer logs its requests. What each peer was given, and why, stands in \`bench/peers\`.

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
  const lines = [head, head.map((_, place) => (place === 0 ? '---' : '---:')), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

export function round(number: number): string {
  return Math.round(number).toLocaleString('en-GB');
}
