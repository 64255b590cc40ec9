import assert from 'node:assert/strict';
import { test } from 'node:test';
import recorded from '../../scripts/upgrade/releases.json' with { type: 'json' };
import { findReleases } from '../../scripts/upgrade/releases.ts';
import { upgradeUnderLoad } from '../../scripts/upgrade/upgrade.ts';
import { SAMPLE_CONTRACT, SAMPLE_EXPAND } from '../support/sample-migrations.ts';

const releases = findReleases();

/** `npm run upgrade-test` also reports latencies and lock waits, which depend on the machine. */
for (const from of releases) {
  test(`two nodes of ${from.name} are upgraded one after the other, and no request fails`, {
    timeout: 600_000,
  }, async (context) => {
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
}

test('this clone has the releases that are upgraded', { skip: releases.length === 0 && 'a shallow clone' }, () => {
  assert.equal(releases.length, recorded.length);
});
