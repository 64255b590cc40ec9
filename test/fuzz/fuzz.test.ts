import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzProduct } from './verdict.ts';

/** `npm run fuzz` takes any number. */
const range = { seed: 1, from: 0, requests: 3000 };

test('3,000 bad requests make no host fail, hang, redirect elsewhere, reveal internals or touch another tenant [X5]', async () => {
  const { problems, reached, responses } = await fuzzProduct(range);

  assert.deepEqual(problems, []);
  // Many bad requests still reach the handlers.
  assert.ok(reached.size > 100, `${reached.size} routes succeeded`);
  for (const status of ['200', '303', '400', '401', '403', '404', '405', '413', '415', '431']) {
    assert.ok((responses.get(status) ?? 0) > 0, `no response was ${status}`);
  }
});
