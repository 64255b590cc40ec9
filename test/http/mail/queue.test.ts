import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { retentionSteps } from '../../../src/jobs.ts';
import { LANGUAGES } from '../../../src/languages/languages.ts';
import { DAY, MINUTE, SECOND } from '../../../src/lib/clock.ts';
import { createKeyring } from '../../../src/lib/keyring.ts';
import { claimMail, type Mailer, type NewMail, queueMail } from '../../../src/mail/mails.ts';
import { removeExpired } from '../../../src/storage/retention.ts';
import { linkInMail, startMailServer } from '../../support/mail-server.ts';
import { startTestServer } from '../../support/test-server.ts';

type Reset = NewMail<'password_reset'>;

const RESET: Reset = {
  kind: 'password_reset',
  to: { address: 'ada@example.com', name: 'Ada' },
  cause: 'ada',
  language: 'en',
  values: { device: { browser: 'Firefox', system: '' }, address: '203.0.113.7' },
  path: '/password/the-secret-of-the-link',
};

async function start(env: Record<string, string> = {}) {
  const smtp = await startMailServer();
  const server = await startTestServer({ ...smtp.env, ...env });
  const counts: Record<string, number> = {};
  const mailer: Mailer = {
    isOn: true,
    keys: createKeyring(server.settings.secretKeys),
    origin: server.web,
    platformName: 'Gatehouse',
    languages: LANGUAGES,
    count: (outcome) => {
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    },
  };
  const queue = (changes: Partial<Reset> = {}) =>
    server.storage().transaction((tx) => queueMail(tx, mailer, { ...RESET, ...changes }, server.clock()));
  const rows = () => server.storage().durable.selectFrom('mails').selectAll().orderBy('id').execute();
  /** Waits until the worker, which polls, has reached the expected state. */
  const until = async (isDone: (all: Awaited<ReturnType<typeof rows>>) => boolean) => {
    for (let found = await rows(); ; found = await rows()) {
      if (isDone(found)) return found;
      await setTimeout(20);
    }
  };
  return { smtp, server, mailer, queue, rows, until };
}

test('a mail is sent as text and HTML, and its row keeps none of its content', async () => {
  const { smtp, server, queue, until } = await start();

  await queue({ userId: server.ada.id });
  const mail = await smtp.waitFor(1);
  const [row] = await until(([one]) => one?.sent_at !== null);

  assert.deepEqual(mail.recipients, ['ada@example.com']);
  assert.deepEqual(mail.from, { name: 'Gatehouse', address: 'no-reply@gatehouse.example' });
  assert.equal(mail.subject, 'Set a new password for Gatehouse');
  assert.equal(linkInMail(mail, server.web), '/password/the-secret-of-the-link');
  assert.match(mail.text ?? '', /^Hello Ada,/);
  assert.match(mail.html ?? '', /<p>Hello Ada,<\/p>/);
  assert.match(mail.raw, /^Auto-Submitted: auto-generated\r$/m);
  assert.ok(mail.raw.includes(`Message-ID: <${row?.id}@gatehouse.example>`));
  assert.deepEqual(
    { kind: row?.kind, user: row?.user_id, content: row?.content, due: row?.due_at },
    { kind: 'password_reset', user: server.ada.id, content: null, due: null },
  );
});

test('a mail that waits is encrypted, and one whose transaction is rolled back is never sent [T28]', async () => {
  const { smtp, server, mailer, queue, rows, until } = await start();
  smtp.reject(451);
  const failed = server.storage().transaction(async (tx) => {
    await queueMail(tx, mailer, RESET, server.clock());
    throw new Error('something else went wrong');
  });
  await assert.rejects(failed);

  await queue({ cause: 'other' });
  await until(([one]) => one?.attempts === 1);

  const all = await rows();
  assert.equal(all.length, 1);
  assert.ok((all[0]?.content ?? '').length > 100);
  for (const text of ['the-secret', 'ada@example.com', 'Firefox']) assert.ok(!JSON.stringify(all).includes(text));
});

test('a mail that cannot be sent is tried again later and later, for a day', async () => {
  const { smtp, server, queue, rows, until } = await start();
  smtp.reject(451);
  await queue();
  const waits: number[] = [];
  for (let attempts = 1; ; attempts++) {
    const [row] = await until(([one]) => one?.attempts === attempts);
    if (row?.due_at === null) break;
    waits.push(Number(row?.due_at) - server.clock());
    server.advanceClock(Number(row?.due_at) - server.clock());
  }

  assert.deepEqual(
    waits,
    [...waits].sort((a, b) => a - b),
  );
  const total = waits.reduce((sum, wait) => sum + wait, 0);
  assert.ok(waits[0] === 10 * SECOND && total > DAY / 2 && total < DAY, String(waits));
  const [row] = await rows();
  assert.deepEqual([row?.sent_at, row?.content], [null, null]);
});

test('after an outage of the mail server a mail is sent, and the recipient gets it once', async () => {
  const { smtp, server, queue, until } = await start();
  smtp.reject(451);
  await queue();
  await until(([one]) => one?.attempts === 1);

  smtp.reject();
  server.advanceClock(10 * SECOND);
  await smtp.waitFor(1);
  await until(([one]) => one?.sent_at !== null);

  assert.equal(smtp.received.length, 1);
});

test('a recipient that the mail server does not know is given up at once', async () => {
  const { smtp, queue, until } = await start();
  smtp.reject(550);

  await queue();
  const [row] = await until(([one]) => one?.due_at === null);

  assert.deepEqual([row?.attempts, row?.sent_at, row?.content], [1, null, null]);
});

test('a mail whose link has expired is not sent any more', async () => {
  const { smtp, server, queue, until } = await start();
  smtp.reject(451);
  await queue({ validFor: 30 * MINUTE });
  for (let attempts = 1; attempts <= 5; attempts++) {
    const [row] = await until(([one]) => one?.attempts === attempts || one?.due_at === null);
    if (row?.due_at === null) break;
    server.advanceClock(Number(row?.due_at) - server.clock());
  }

  const [row] = await until(([one]) => one?.due_at === null);
  assert.ok(server.clock() - Number(row?.created_at) < 30 * MINUTE);
  assert.equal(smtp.received.length, 0);
});

test('of several pending mails with one cause, the newest is sent, a minute after the last one', async () => {
  const { smtp, server, queue, rows, until } = await start();
  await queue({ path: '/password/first' });
  assert.equal(linkInMail(await smtp.waitFor(1), server.web), '/password/first');
  await until(([one]) => one?.sent_at !== null);

  await queue({ path: '/password/second' });
  await queue({ path: '/password/third' });
  await queue({ cause: 'somebody else', path: '/password/other' });
  assert.equal(linkInMail(await smtp.waitFor(2), server.web), '/password/other');
  assert.equal((await rows()).length, 3);
  server.advanceClock(MINUTE);

  assert.equal(linkInMail(await smtp.waitFor(3), server.web), '/password/third');
});

test('a mail is not delayed by failed attempts to send the one that it replaces', async () => {
  const { smtp, server, queue, until } = await start();
  smtp.reject(451);
  await queue({ path: '/password/first' });
  for (let attempts = 1; attempts <= 3; attempts++) {
    const [row] = await until(([one]) => one?.attempts === attempts);
    if (attempts < 3) server.advanceClock(Number(row?.due_at) - server.clock());
  }
  smtp.reject();

  await queue({ path: '/password/second' });

  assert.equal(linkInMail(await smtp.waitFor(1), server.web), '/password/second');
});

test('two nodes that claim mail at the same time claim each mail once', async () => {
  const { server, mailer, queue } = await start();
  await server.restart({ settings: { smtp: undefined } });
  for (let i = 0; i < 6; i++) await queue({ cause: `cause ${i}` });
  const claim = () =>
    server.storage().transaction((tx) => claimMail(tx, mailer.keys, server.clock() + MINUTE, server.clock()));

  const claimed = (await Promise.all(Array.from({ length: 6 }, claim))).flatMap((mail) => (mail ? [mail.id] : []));

  assert.equal(claimed.length, new Set(claimed).size);
  let rest = 0;
  while (await claim()) rest += 1;
  assert.equal(claimed.length + rest, 6);
});

test('mail that is queued while no worker runs is sent after the restart', async () => {
  const { smtp, server, queue } = await start();

  await server.restart({ meanwhile: async () => {}, settings: { smtp: undefined } });
  await queue();
  assert.equal(smtp.received.length, 0);
  await server.restart();

  assert.equal(linkInMail(await smtp.waitFor(1), server.web), RESET.path);
});

test('without SMTP_URL nothing is queued', async () => {
  const { server, mailer, rows } = await start();

  await server.storage().transaction((tx) => queueMail(tx, { ...mailer, isOn: false }, RESET, server.clock()));

  assert.deepEqual(await rows(), []);
});

const HOSTILE = [
  { name: 'Eve\r\nBcc: mallory@example.com', address: 'ada@example.com' },
  { name: 'Eve" <mallory@example.com>, "Ada', address: 'ada@example.com' },
  { name: 'Zoë 東京 <b>', address: 'ada@example.com' },
  { name: '=?utf-8?q?Eve?=', address: 'ada@example.com' },
];

for (const to of HOSTILE) {
  test(`a name like ${JSON.stringify(to.name)} adds neither a header nor a recipient`, async () => {
    const { smtp, queue } = await start();

    await queue({ to });
    const { recipients, to: shown, bcc, headers, html, raw } = await smtp.waitFor(1);

    assert.deepEqual(recipients, ['ada@example.com']);
    assert.deepEqual(
      shown?.map(({ address }) => address),
      ['ada@example.com'],
    );
    assert.equal(bcc, undefined);
    assert.ok(!headers.some(({ key }) => key === 'bcc'));
    assert.doesNotMatch(raw.slice(0, raw.indexOf('\r\n\r\n')), /[^\p{ASCII}]/u);
    assert.ok(!html?.includes('<b>'));
  });
}

for (const address of [
  'ada@example.com\r\nBcc: mallory@example.com',
  'ada@example.com, mallory@example.com',
  'ada@example.com>\r\nRCPT TO:<mallory@example.com',
]) {
  test(`an address like ${JSON.stringify(address)} reaches no other recipient`, async () => {
    const { smtp, queue, until } = await start();

    await queue({ to: { address } });
    await until(([one]) => one?.sent_at !== null || one?.due_at === null || one?.attempts > 0);

    const reached = smtp.received.flatMap(({ recipients }) => recipients);
    assert.ok(!reached.includes('mallory@example.com'), String(reached));
    assert.ok(smtp.received.every(({ bcc }) => bcc === undefined));
  });
}

test('rows of mails are removed after 30 days', async () => {
  const { smtp, server, queue, rows, until } = await start();
  await queue();
  await smtp.waitFor(1);
  await until(([one]) => one?.sent_at !== null);
  const db = server.storage().durable;

  await removeExpired(db, retentionSteps(), server.clock() + 29 * DAY);
  assert.equal((await rows()).length, 1);
  await removeExpired(db, retentionSteps(), server.clock() + 30 * DAY);

  assert.deepEqual(await rows(), []);
});
