import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { LANGUAGES } from '../../../src/languages/languages.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { type Mailer, queueMail } from '../../../src/mail/mails.ts';
import { createSmtpTransport } from '../../../src/mail/transport.ts';
import { startMailWorker } from '../../../src/mail/worker.ts';
import { startMailServer } from '../../support/mail-server.ts';
import { startTestServer } from '../../support/test-server.ts';

/** A mail server, and workers that share a database as those of several nodes do. They renew their claims every few milliseconds. */
async function start() {
  const smtp = await startMailServer();
  const server = await startTestServer();
  const mailer: Mailer = {
    isOn: true,
    keys: createKeyring(server.settings.secretKeys),
    origin: server.web,
    platformName: 'Gatehouse',
    languages: LANGUAGES,
    count() {},
  };
  const rows = () => server.storage().durable.selectFrom('mails').selectAll().orderBy('id').execute();
  return {
    smtp,
    server,
    rows,
    startWorker() {
      const transport = createSmtpTransport({
        smtpUrl: smtp.env.SMTP_URL,
        from: { name: 'Gatehouse', address: 'no-reply@gatehouse.example' },
      });
      const deps = { storage: server.storage(), clock: server.clock, mailer };
      return startMailWorker(deps, transport, { error() {}, warn() {} }, 5);
    },
    queue: (cause: string) =>
      server.storage().transaction((tx) =>
        queueMail(
          tx,
          mailer,
          {
            kind: 'address_verification',
            to: { address: `${cause}@example.com` },
            cause,
            language: 'en',
            values: {},
            path: '/address/link',
          },
          server.clock(),
        ),
      ),
    async until(isDone: (all: Awaited<ReturnType<typeof rows>>) => boolean) {
      while (!isDone(await rows())) await setTimeout(10);
    },
  };
}

test('a mail whose server needs long to accept it is sent once, however many nodes there are', async () => {
  const { smtp, server, queue, rows, until, startWorker } = await start();
  const accept = Promise.withResolvers<void>();
  smtp.hold(accept.promise);
  await queue('ada');
  const workers = [startWorker(), startWorker()];
  await smtp.waitFor(1);

  for (let minute = 0; minute < 9; minute++) {
    const before = Number((await rows())[0]?.claimed_until);
    server.advanceClock(MINUTE);
    await until(([mail]) => Number(mail?.claimed_until) > before);
  }
  accept.resolve();
  await until(([mail]) => mail?.sent_at !== null);

  assert.equal(smtp.received.length, 1);
  await Promise.all(workers.map((stop) => stop()));
});

test('a node claims no more mails than it can send at once', async () => {
  const { smtp, server, queue, rows, until, startWorker } = await start();
  const accept = Promise.withResolvers<void>();
  smtp.hold(accept.promise);
  for (let i = 0; i < 5; i++) await queue(`user-${i}`);
  const workers = [startWorker()];
  await smtp.waitFor(2);

  const claimed = (await rows()).filter(({ claimed_until }) => claimed_until > server.clock());
  assert.equal(claimed.length, 2);
  workers.push(startWorker());
  await smtp.waitFor(4);
  accept.resolve();
  await until((all) => all.every(({ sent_at }) => sent_at !== null));

  assert.equal(smtp.received.length, 5);
  assert.equal(new Set(smtp.received.map(({ messageId }) => messageId)).size, 5);
  await Promise.all(workers.map((stop) => stop()));
});

test('a server has ten minutes to accept a mail (RFC 5321 §4.5.3.2.6)', async () => {
  const sockets = new Set<Socket>();
  subscribe('net.client.socket', (message) => sockets.add((message as { socket: Socket }).socket));
  const { smtp, queue, until, startWorker } = await start();
  const port = Number(new URL(smtp.env.SMTP_URL).port);
  const accept = Promise.withResolvers<void>();
  smtp.hold(accept.promise);
  await queue('ada');
  const stop = startWorker();

  await smtp.waitFor(1);
  const timeouts = [...sockets].filter(({ remotePort }) => remotePort === port).map(({ timeout }) => timeout);
  accept.resolve();
  await until(([mail]) => mail?.sent_at !== null);

  assert.deepEqual(timeouts, [10 * MINUTE]);
  await stop();
});

test('a mail is not sent again at once if its connection ends before the reply', async () => {
  const { smtp, queue, rows, until, startWorker } = await start();
  const sockets = new Set<Socket>();
  subscribe('net.client.socket', (message) => sockets.add((message as { socket: Socket }).socket));
  const port = Number(new URL(smtp.env.SMTP_URL).port);
  smtp.hold(new Promise(() => {}));
  await queue('ada');
  const stop = startWorker();
  await smtp.waitFor(1);

  for (const socket of sockets) if (socket.remotePort === port) socket.destroy();
  await until(([mail]) => mail?.attempts === 1);

  assert.equal(smtp.received.length, 1);
  assert.ok(Number((await rows())[0]?.due_at) > 0);
  await stop();
});
