// `npm run upgrade-test`: upgrades two nodes of an earlier release under load. `-- --help` lists the options.
import { parseArgs } from 'node:util';
import { findReleases } from './upgrade/releases.ts';
import { formatReport } from './upgrade/report.ts';
import { upgradeUnderLoad } from './upgrade/upgrade.ts';

const HELP = `Upgrades two nodes of the last release, or of another one, to this checkout, with sample migrations, while clients use them.

npm run upgrade-test                       with 20,000 grants: about a minute
npm run upgrade-test -- --grants 2000000   as in docs/reference/upgrades.md: 20 minutes or more, and 3 GB of disk
npm run upgrade-test -- --from v0.1.0      from this release

Exits with 1 if a request failed, or if one waited for a lock for more than 100 ms.`;

const { values } = parseArgs({
  options: {
    grants: { type: 'string', default: '20000' },
    from: { type: 'string' },
    help: { type: 'boolean' },
    json: { type: 'boolean' },
  },
});
if (values.help) {
  console.log(HELP);
} else {
  const from = findReleases().find(({ name }) => name === (values.from ?? name));
  if (!from) throw new Error('This clone does not have the release. Run: git fetch --tags --unshallow');
  const began = performance.now();
  const report = await upgradeUnderLoad({
    from,
    grants: Number(values.grants),
    settle: 10_000,
    flags: ['fsync=on', 'shared_buffers=512MB', 'max_wal_size=4GB'],
    onProgress: (text) => console.error(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${text}`),
  });
  console.log(values.json ? JSON.stringify(report) : formatReport(report));
  process.exitCode = report.failures.length + report.lockWaits.length > 0 ? 1 : 0;
}
