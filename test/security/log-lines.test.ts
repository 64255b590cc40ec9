import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startLoggedServer } from '../reference/logged-server.ts';
import { write } from '../reference/raw.ts';

const FORGED = '{"level":30,"status":200,"route":"/forged"}';

test('no line break in a request starts a new line of the log, and each line names its subject [X4]', async () => {
  const { api, web, readLog } = await startLoggedServer();
  const before = (await readLog()).length;
  const breaks = ['%0d%0a', '%0a', '%0d', '%e2%80%a8', '%c2%85'];
  const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } };

  for (const lineBreak of breaks) {
    const text = `${lineBreak}${encodeURIComponent(FORGED)}${lineBreak}`;
    for (const address of [
      `${api}/${text}`,
      `${web}/${text}`,
      `${api}/openapi.json?x=${text}`,
      `${web}/sign-in?return_to=${text}`,
    ]) {
      await (await fetch(address, { redirect: 'manual' })).text();
    }
    await (await fetch(`${api}/api/v1/oauth/token`, { ...form, body: `client_id=${text}&grant_type=${text}` })).text();
    await (await fetch(`${api}/docs/errors/${text}`)).text();
  }
  await write(api, `GET /\r\n${FORGED}\r\n HTTP/1.1\r\n\r\n`);

  const lines = (await readLog()).slice(before);
  assert.ok(lines.length > breaks.length * 6, String(lines.length));
  for (const line of lines) {
    assert.notEqual(JSON.parse(line).route, '/forged', line);
    assert.doesNotMatch(line, /forged/, line);
  }
});
