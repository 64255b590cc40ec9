// `npm run security-report`: runs all tests, and writes the result of each item of the checklist to docs/reference/security.md.
// With a folder as argument it uses the results of an earlier run, which had TEST_RESULTS set to that folder.
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findClaims, type Result, resultOf } from '../test/security/claims.ts';
import { renderPage } from '../test/security/page.ts';

const PAGE = fileURLToPath(new URL('../docs/reference/security.md', import.meta.url));

const [given] = process.argv.slice(2);
const folder = given ?? mkdtempSync(join(tmpdir(), 'gatehouse-results-'));
if (!given) {
  const env = { ...process.env, TEST_RESULTS: folder };
  spawnSync(process.execPath, [fileURLToPath(new URL('test.mjs', import.meta.url)), 'all'], { env, stdio: 'inherit' });
}
const results = readResults(folder);
if (!given) rmSync(folder, { recursive: true });
const claims = findClaims();
writeFileSync(
  PAGE,
  renderPage(claims, (claim) => resultOf(claim, results)),
);
const bad = claims.filter((claim) => resultOf(claim, results) !== 'passes');
console.log(`${claims.length} tests, of which ${bad.length} did not pass, or did not run.`);
for (const claim of bad) console.log(`${resultOf(claim, results)}: ${claim.name} (${claim.file})`);
process.exitCode = bad.length > 0 ? 1 : 0;

function readResults(from: string): Result[] {
  return globSync(join(from, '*.jsonl')).flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line): Result => JSON.parse(line)),
  );
}
