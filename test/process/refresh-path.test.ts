import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createRequestRecorder, type RequestRecorder } from '../../src/request-log/recorder.ts';
import { startTestServer } from '../support/test-server.ts';

const HOME = new URL('../../', import.meta.url);
const MOST_FUNCTIONS = 50;
const MOST_FILES = 25;
const REFRESHES = 50;
const MOST_OF_THEM = 0.8 * REFRESHES;

const server = await startTestServer({}, undefined, { createRecorder: createKeepingRecorder });

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

/** Keeps requests in memory, as every recorder does. It never stores them: that would be counted for each of them. */
function createKeepingRecorder(...deps: Parameters<typeof createRequestRecorder>): RequestRecorder {
  const recorder = createRequestRecorder(...deps);
  recorder.stop();
  return recorder;
}

/**
 * What runs for most of many refreshes belongs to one. Timers run meanwhile, on a slow machine as often as refreshes, so the calls
 * of an equally long time without a refresh are subtracted.
 */
async function functionsOfWarmRefresh(): Promise<Ran[]> {
  let { refresh_token } = await server.connect();
  const refresh = async (times: number) => {
    for (let n = 0; n < times; n += 1) refresh_token = (await server.refresh(refresh_token)).body.refresh_token;
  };
  await refresh(20);
  const began = performance.now();
  const ran = await functionsOf(() => refresh(REFRESHES));
  const took = performance.now() - began;
  const idle = new Map((await functionsOf(() => setTimeout(took))).map(({ id, calls }) => [id, calls]));
  return ran.filter(({ id, calls }) => calls - (idle.get(id) ?? 0) > MOST_OF_THEM);
}

interface Ran {
  id: string;
  file: string;
  name: string;
  calls: number;
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
          calls: range?.count ?? 0,
        })),
    );
}
