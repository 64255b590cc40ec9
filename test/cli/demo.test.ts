import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { createCommandLine } from '../support/command-line.ts';
import { freePort } from '../support/ports.ts';

test('a demo that cannot listen on one of its five ports names the setting, and leaves no data', async () => {
  const first = await freePort(5);
  const env = { BASE_URL: `http://127.0.0.1:${first}`, CONSENT_URL: `http://127.0.0.1:${first + 1}` };
  const settings = [/BASE_URL or LISTEN/, /CONSENT_URL or CONSENT_LISTEN/, /CONSENT_URL/, /CONSENT_URL/, /CONSENT_URL/];

  for (const [n, setting] of settings.entries()) {
    const cli = createCommandLine();
    const taken = createServer().listen(first + n, '127.0.0.1');
    await once(taken, 'listening');

    const { status, stderr } = await cli.run(['demo'], { env, asProcess: true });
    await once(taken.close(), 'close');

    assert.equal(status, 1, stderr);
    assert.match(stderr, new RegExp(`^.*[: ]${first + n}\\b.*${setting.source}.*\\n$`));
    assert.deepEqual(readdirSync(cli.folder), []);
  }
});
