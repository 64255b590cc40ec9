import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startTestServer } from '../support/test-server.ts';

const HOME = new URL('../../', import.meta.url);
const MOST_FUNCTIONS = 50;
const MOST_FILES = 25;

const server = await startTestServer();

const ran = await functionsOfWarmRefresh();

test('a warm refresh runs few functions in few files', () => {
  const files = Map.groupBy(ran, ({ file }) => file);
  const list = [...files].map(([file, functions]) => `${file}: ${functions.map(({ name }) => name).join(', ')}`);
  const report = `${ran.length} functions in ${files.size} files\n  ${list.sort().join('\n  ')}`;
  assert.ok(ran.length <= MOST_FUNCTIONS && files.size <= MOST_FILES, report);
});

test('ARCHITECTURE.md names exactly the files that run for a refresh', async () => {
  const text = await readFile(new URL('ARCHITECTURE.md', HOME), 'utf8');
  const [, section = ''] = /^## One request, followed\n(.*?)^## /ms.exec(text) ?? [];
  const named = [...section.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file]) => `src/${file}`);
  const documented = new Set(named.filter((file) => !file.startsWith('src/test/')));
  assert.deepEqual([...documented].sort(), [...new Set(ran.map(({ file }) => file))].sort());
});

/**
 * Only what runs in each of ten refreshes belongs to one: timers run now and then. On a busy machine a timer may run each time,
 * or a commit end after a response, so several series are measured, and the largest that has no more than the limit counts.
 */
async function functionsOfWarmRefresh(): Promise<Ran[]> {
  let { refresh_token } = await server.connect();
  const refresh = async () => {
    refresh_token = (await server.refresh(refresh_token)).body.refresh_token;
  };
  for (let round = 0; round < 20; round += 1) await refresh();
  const series: Ran[][] = [];
  const isWithinLimit = ({ length }: Ran[]) => length <= MOST_FUNCTIONS;
  while (series.filter(isWithinLimit).length < 3 && series.length < 30) series.push(await functionsInEach(refresh));
  series.sort((a, b) => a.length - b.length);
  return series.findLast(isWithinLimit) ?? series[0] ?? [];
}

async function functionsInEach(work: () => Promise<void>): Promise<Ran[]> {
  let common = await functionsOf(work);
  for (let round = 1; round < 10; round += 1) {
    const ids = new Set((await functionsOf(work)).map(({ id }) => id));
    common = common.filter(({ id }) => ids.has(id));
  }
  return common;
}

interface Ran {
  id: string;
  file: string;
  name: string;
}

/** The functions below src that run while `work` does, as V8 counts them. A callback without a name belongs to the function around it. */
async function functionsOf(work: () => Promise<void>): Promise<Ran[]> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
  const source = new URL('src/', HOME).href;
  return result
    .filter(({ url }) => url.startsWith(source))
    .flatMap(({ url, functions }) =>
      functions
        .filter(({ functionName, ranges: [range] }) => functionName !== '' && range && range.count > 0)
        .map(({ functionName: name, ranges: [range] }) => ({
          id: `${url} ${range?.startOffset}`,
          file: relative(fileURLToPath(HOME), fileURLToPath(url)),
          name,
        })),
    );
}
