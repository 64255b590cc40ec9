// `npm test`, or `npm test -- test/oauth` for a part of it.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';

const places = process.argv.slice(2);
const files = (places.length > 0 ? places : ['test']).flatMap((place) =>
  place.endsWith('.ts') ? [place] : globSync(`${place}/**/*.test.ts`),
);
const { status } = spawnSync(process.execPath, ['--test', '--test-concurrency=2', ...files.sort()], {
  stdio: 'inherit',
});
process.exit(status ?? 1);
