import assert from 'node:assert/strict';
import { test } from 'node:test';
import { en } from '../../src/languages/en.ts';
import { Overloaded, TooManyRequests } from '../../src/lib/errors.ts';
import { toText } from '../../src/lib/html.ts';
import { noticeText } from '../../src/mail/notice-texts.ts';
import { renderMail } from '../../src/mail/render.ts';
import { type MailKind, textOf } from '../../src/mail/texts.ts';
import { errorPage } from '../../src/web/errors.ts';
import { openHostedPages } from '../support/hosted-pages.ts';
import { CLOSE, LONG, OPEN } from '../support/made-up-languages.ts';

/** Texts on the pages that are not translated: names, addresses and the like. */
const DATA = [
  ...['Gatehouse', 'Acme', 'Borealis', 'Bolt', 'Ledger', 'Books', 'Console', 'Self', 'Assistant', 'Notes', 'Staff'],
  ...['Ada', 'Tova', 'Nils', 'Nina', 'Mia', 'Uma', 'Omar', 'Olaf', 'Guest'],
];
const ADDRESS = /[\w.+-]+@[\w.-]+|\b(?:[\w-]+\.)+example\b|\b127\.0\.0\.1(?::\d+)?\b|\bhttps?:\S*/g;

const SPOKEN =
  /\s(?:title|aria-label|placeholder|alt|data-(?:not-used|already-here|not-at-this-address|failed))="([^"]*)"/g;
const VOID = ['meta', 'link', 'input', 'br', 'hr', 'img', '!doctype'];

const { pages } = await openHostedPages(LONG);

test('every hosted page takes all of its texts from the catalogue', () => {
  assert.ok(pages.size > 55, String(pages.size));
  for (const [name, { text }] of pages) {
    assert.match(text, /<html lang="x-long" dir="ltr">/, name);
    assert.deepEqual(findStrays(text), [], name);
  }
});

test('hosted pages in a language twice as long are below 60 kB', () => {
  const sizes = [...pages].map(([name, { text }]) => [name, Buffer.byteLength(text)] as const);
  assert.deepEqual(
    sizes.filter(([, size]) => size >= 60_000),
    [],
  );
});

/** Texts that this test does not reach, or that the script shows. */
const RARE = [
  'scopes.write:contacts',
  'secondStep.passkeyRequired',
  'forgottenPassword.askOwner',
  'forgottenPassword.linkWorksOnce',
  'newPassword.ends.passkeys',
  'consent.unknownPublisher',
  'consent.verified',
  'consent.links.supportUrl',
  'consent.links.privacyUrl',
  'consent.links.termsUrl',
  'consent.keeps',
  'consent.thisSite',
  'consent.mayAlready',
  'restriction.seeAccountPage',
  'invitation.closed.open.title',
  'invitation.closed.open.sentence',
];

test('the pages of this test show every text of the catalogue', () => {
  const shown = [...pages.values()].map(({ text }) => text).join('');
  const { tag, name, direction, formats, problems, mail, mails, notices, errors, untrusted, ...hosted } = en;
  const unseen = listTexts(hosted).filter(([, text]) => !shown.includes(escapeText(`${OPEN}${text} `)));
  assert.deepEqual(
    unseen.map(([path]) => path),
    RARE,
  );
});

function listTexts(value: object, path = ''): [path: string, text: string][] {
  return Object.entries(value).flatMap(([key, text]) => {
    if (typeof text === 'string') return [[`${path}${key}`, text] as [string, string]];
    return typeof text === 'object' ? listTexts(text, `${path}${key}.`) : [];
  });
}

test('error pages of every kind take all of their texts from the catalogue', () => {
  const errors = [new TooManyRequests(5), new TooManyRequests(500), new Overloaded(), new Error('bug')];
  for (const error of [...errors, { statusCode: 400 }, { statusCode: 404 }]) {
    const { page } = errorPage(error, { texts: LONG, platformName: 'Gatehouse', requestId: 'Books' });
    assert.equal(page.texts, LONG);
    assert.deepEqual(
      findStrays(`<title>${typeof page.title === 'string' ? page.title : ''}</title>${toText(page.body)}`),
      [],
    );
  }
});

test('every mail takes all of its words from the catalogue', () => {
  const values = {
    device: { browser: 'Books', system: '' },
    address: 'Ada',
    newAddress: 'Ada',
    businessName: 'Acme',
    inviterName: 'Ada',
  };
  const codes = { two_step: 'removed', how: 'mail', why: 'gone', factor: 'passkey' };
  const names = { app: 'Books', business: 'Acme', by: 'Ada', from: 'Ada', passkey: 'Console', reason: 'Books' };
  const notices = Object.keys(en.notices).map((kind) => noticeText(LONG, kind, { ...codes, ...names }));
  const kinds = (Object.keys(en.mails) as MailKind[]).filter((kind) => kind !== 'notice');
  const words = [
    ...kinds.map((kind) => textOf(LONG, kind, { ...values, platformName: 'Gatehouse' } as never)),
    ...notices.map((notice) => textOf(LONG, 'notice', { ...notice, platformName: 'Gatehouse' } as never)),
  ];
  for (const mail of words) {
    for (const name of ['Ada', undefined]) {
      const link = 'https://pages.example/x';
      const { subject, text, html } = renderMail(mail, { texts: LONG, name, link, platformName: 'Gatehouse' });
      assert.match(html, /<html lang="x-long"/);
      for (const part of [subject, text, html]) assert.deepEqual(findStrays(part), [], subject);
    }
  }
});

/** Letters outside the marks of the test language, in the visible and the accessible text. */
function findStrays(page: string): string[] {
  return listPerceived(page).flatMap(listUnmarked).filter(hasLetters);
}

/** The text of the page, and each attribute that a screen reader reads. Parts in English are marked as such. */
function listPerceived(page: string): string[] {
  const shown: string[] = [];
  const spoken: string[] = [];
  const hidden: string[] = [];
  for (const [tag, close, name = '', attributes = ''] of page.matchAll(/<(\/?)([\w!]+)([^>]*)>|[^<]+/g)) {
    const element = name.toLowerCase();
    const isHidden = /^(?:script|style|svg)$/.test(element) || /aria-hidden="true"|lang="en"/.test(attributes);
    if (close) {
      if (hidden.at(-1) === element) hidden.pop();
    } else if (isHidden || hidden.length > 0) {
      const isNested = hidden.at(-1) === element;
      if (element && !VOID.includes(element) && (hidden.length === 0 || isNested)) hidden.push(element);
    } else if (element) spoken.push(...[...attributes.matchAll(SPOKEN)].map(([, value = '']) => value));
    else shown.push(tag);
  }
  return [shown.join(' '), ...spoken];
}

function listUnmarked(text: string): string[] {
  let depth = 0;
  const parts = text.split(new RegExp(`([${OPEN}${CLOSE}])`));
  return parts.filter((part) => {
    if (part === OPEN) depth += 1;
    if (part === CLOSE) depth -= 1;
    return depth === 0 && part !== CLOSE;
  });
}

function hasLetters(text: string): boolean {
  const rest = DATA.reduce((left, name) => left.replaceAll(name, ''), text.replace(ADDRESS, ''));
  return /\p{L}/u.test(rest.replace(/&\w+;/g, ''));
}

function escapeText(text: string): string {
  return text.replaceAll("'", '&#39;').replaceAll('"', '&quot;');
}
