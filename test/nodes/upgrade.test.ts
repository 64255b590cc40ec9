import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLastRelease } from '../../scripts/upgrade/releases.ts';
import { upgradeUnderLoad } from '../../scripts/upgrade/upgrade.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from '../support/sample-migrations.ts';

const from = findLastRelease();

/** `npm run upgrade-test` also reports latencies and lock waits, which depend on the machine. */
test('two nodes of the last release are upgraded one after the other, and no request fails', {
  timeout: 600_000,
  skip: from === undefined && 'this clone does not have the last release',
}, async (context) => {
  assert.ok(from);
  const { failures, phases, expand, contract } = await upgradeUnderLoad({
    from,
    grants: 20_000,
    settle: 2_000,
    flags: [],
    onProgress: (text) => context.diagnostic(text),
  });

  assert.deepEqual(failures, []);
  assert.ok(expand.applied.includes(SAMPLE_EXPAND.name));
  assert.deepEqual(expand.waiting, [SAMPLE_CONTRACT.name], 'the old nodes still run');
  assert.deepEqual(contract.applied, [SAMPLE_CONTRACT.name]);
  for (const { name, operations } of phases) assert.ok(operations > 0, name);
});
