import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { listSessions } from '../../src/accounts/sessions.ts';
import { toBody } from '../support/browser.ts';
import { PASSWORD } from '../support/fixtures.ts';
import { startTestServer } from '../support/test-server.ts';

test('the address of a client that disconnects during a password check is still recorded [S9]', async () => {
  const server = await startTestServer();
  const browser = server.browse();
  const body = `${toBody({ csrf: await browser.csrf(), email: server.ada.email, password: PASSWORD })}`;
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const { hostname, port, host } = new URL(server.web);
  const head = `POST /sign-in HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\n`;
  const type = 'Content-Type: application/x-www-form-urlencoded';

  const socket = connect(Number(port), hostname, () => {
    socket.write(`${head}${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`, () => socket.resetAndDestroy());
  });
  const sessions = () => listSessions(server.storage().durable, { userId: server.ada.id, limit: 9 }, server.clock());
  for (let i = 0; i < 100 && (await sessions()).length === 0; i++) await setTimeout(50);

  assert.deepEqual(
    (await sessions()).map(({ address }) => address),
    ['127.0.0.1'],
  );
});
