// `npm run check:deploy`: checks the files of deploy/ and the Dockerfile with the tools that read them, and runs what they describe as far as
// this machine can. Builds Helm, Caddy and the loader of Compose with Go, and installs three Python packages, once, in the user's cache folder.
// A check whose tool this machine lacks is listed as not run. `-- compose helm` runs some of them.
import { checkCompose, loadCompose } from './deploy/compose.ts';
import { checkContainer, lintContainer } from './deploy/container.ts';
import { checkHelm } from './deploy/helm.ts';
import { checkMonitoring } from './deploy/monitoring.ts';
import { checkHaproxy, checkNginx } from './deploy/proxies.ts';
import { checkSystemd, traceSystemd } from './deploy/systemd.ts';
import { CannotRun } from './deploy/tools.ts';

/** Each resolves with what it has shown. */
const CHECKS: Record<string, () => Promise<string>> = {
  'container: lint': lintContainer,
  'container: build and run': checkContainer,
  'compose: load': loadCompose,
  'compose: run': checkCompose,
  nginx: checkNginx,
  haproxy: checkHaproxy,
  helm: checkHelm,
  'systemd: verify': checkSystemd,
  'systemd: system calls': traceSystemd,
  monitoring: checkMonitoring,
};

const wanted = process.argv.slice(2);
const outcomes: [name: string, outcome: string][] = [];
for (const [name, check] of Object.entries(CHECKS)) {
  if (wanted.length > 0 && !wanted.some((word) => name.startsWith(word))) continue;
  outcomes.push([name, await outcomeOf(name, check)]);
}
console.log('\n| check | outcome |\n|---|---|');
for (const [name, outcome] of outcomes) console.log(`| ${name} | ${outcome} |`);

async function outcomeOf(name: string, check: () => Promise<string>): Promise<string> {
  try {
    return `passed: ${await check()}`;
  } catch (error) {
    if (error instanceof CannotRun) return `not run: ${error.message}`;
    console.error(`\n${name}:`, error);
    process.exitCode = 1;
    return 'failed';
  }
}
