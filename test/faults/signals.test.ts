import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createSqliteServer } from './support/sqlite-server.ts';

const PRELOAD = fileURLToPath(new URL('support/stop-at-once.ts', import.meta.url));

for (const args of [[], ['--workers', '2']]) {
  test(`${['serve', ...args].join(' ')}: SIGTERM as its first listener opens shuts it down cleanly, with exit 0`, async () => {
    const server = await createSqliteServer();
    const serving = server.serve({ args, preload: PRELOAD });

    const { code, stderr } = await serving.waitForExit();

    assert.equal(code, 0, stderr);
  });
}
