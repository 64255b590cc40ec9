import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setLanguage } from '../../../src/accounts/users.ts';
import { LANGUAGES } from '../../../src/languages/languages.ts';
import { renderMail } from '../../../src/mail/render.ts';
import { textOf } from '../../../src/mail/texts.ts';
import { DEVELOPER, registerInBrowser } from '../../support/app-pages.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { inviteInBrowser } from '../../support/invitations.ts';
import { linkInMail, type ReceivedMail, startMailServer } from '../../support/mail-server.ts';
import { startTestServer } from '../../support/test-server.ts';

const smtp = await startMailServer({ wantsNotices: true });
const server = await startTestServer({ ...smtp.env, LIMIT_INVITATIONS: '1000' });
const db = () => server.storage().durable;
let count = 0;
const GERMAN = { 'accept-language': 'de' };

/** A lure as long as a name may be. */
const LURE = 'Your account is locked. Unlock: https://evil.example/unlock';
const WITH_ADDRESSES = [LURE, 'evil.example/unlock', 'help@evil.example', 'WWW.evil.example', 'Acme\nhttps', '＠evil'];

/** What a mail program could make a link of: parts that are joined without a space, within one text of the mail. */
const LINKED = /[^\s“”„.:/@][.:/@]+[^\s“”„.:/@,]+/gu;

/** Without the elements, and without the link of the mail itself, each text on its own. */
function listLinkable({ text = '', html = '' }: Pick<ReceivedMail, 'text' | 'html'>): string[] {
  const body = html.slice(html.indexOf('<body'));
  const texts = [...text.split('\n'), ...body.replaceAll(/<(\w+)[^>]*>|<\/\w+>/g, '\n').split('\n')];
  return texts
    .filter((line) => !line.startsWith(`${server.web}/`) && line !== '--')
    .flatMap((line) => line.match(LINKED) ?? [])
    .filter((each) => !/^\d/.test(each));
}

/** The text of the HTML part, as people read and copy it. */
const readable = ({ html = '' }: Pick<ReceivedMail, 'html'>) =>
  html
    .slice(html.indexOf('<body'))
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&#39;', '’');

for (const name of WITH_ADDRESSES) {
  test(`neither a person, a business nor an app can be called ${JSON.stringify(name)}`, async () => {
    const owner = await server.signedIn();
    const link = await inviteInBrowser(owner);
    const guest = server.browse(GERMAN);

    const pages = [
      await owner.submit(await owner.open('/settings/business'), '/settings/business/name', { name }),
      await owner.submit(await owner.open('/settings/account'), '/settings/account/name', { name }),
      await registerInBrowser(owner, DEVELOPER, { name }),
    ];
    const joining = await guest.submit(await guest.open(link), `${link}/account`, { name, password: PASSWORD });

    for (const { status, text } of pages) {
      assert.equal(status, 400);
      assert.match(text, /Use a name without \/, @ and www\.|Use visible characters only\./);
    }
    assert.equal(joining.status, 400);
    assert.match(joining.text, /Namen ohne \/, @ und www\.|nur sichtbare Zeichen/);
  });
}

test('a name with a dot is a name', async () => {
  const owner = await server.signedIn(await server.addUser('J.R. Hartley', [[server.acme, 'owner']]));

  const page = await owner.submit(await owner.open('/settings/account'), '/settings/account/name', {
    name: 'Booking.com',
  });

  assert.equal(page.status, 200);
  assert.match(page.text, /Your name has been changed/);
});

test('a name from before this rule stays until it is changed', async () => {
  const app = await server.addApp({ name: 'Old', ownerBusinessId: server.acme.id });
  const user = await server.addUser('Olaf', [[server.acme, 'owner']]);
  await db().updateTable('apps').set({ name: LURE }).where('id', '=', app.id).execute();
  await db().updateTable('users').set({ name: LURE }).where('id', '=', user.id).execute();
  const owner = await server.signedIn(user);
  const path = `${DEVELOPER}/${app.id}`;
  const form = await owner.open(path);
  const fields = { redirect_uris: 'https://other.example/callback', scope: 'read:invoices' };

  const kept = await owner.submit(form, path, { ...fields, name: LURE });
  const renamed = await owner.submit(form, path, { ...fields, name: `${LURE}!` });
  const own = await owner.submit(await owner.open('/settings/account'), '/settings/account/name', { name: LURE });

  assert.equal(kept.status, 200);
  assert.equal(renamed.status, 400);
  assert.equal(own.status, 200);
});

const INVITATIONS = [
  { headers: {}, sentence: 'join the business “NAME” at Gatehouse. The invitation is from “NAME”.' },
  { headers: GERMAN, sentence: 'dem Unternehmen „NAME“ bei Gatehouse beizutreten. Die Einladung kommt von „NAME“.' },
];

for (const { headers, sentence } of INVITATIONS) {
  for (const name of [LURE, 'Booking.com', 'www.evil.example', 'help@evil.example']) {
    test(`an invitation quotes ${name}, and no mail program makes a link of it: ${JSON.stringify(headers)}`, async () => {
      const business = await server.addBusiness('Bolt');
      const user = await server.addUser(`Eve${++count}`, [[business, 'owner']]);
      await db().updateTable('businesses').set({ name }).where('id', '=', business.id).execute();
      await db().updateTable('users').set({ name }).where('id', '=', user.id).execute();
      const owner = server.browse(headers);
      owner.cookies.set('__Host-session', await server.startSession(user));
      const email = `invited-${++count}@example.com`;
      await inviteInBrowser(owner, { email });
      const mail = await smtp.waitForMailTo(email, 0);

      assert.deepEqual(listLinkable(mail), []);
      assert.ok(readable(mail).includes(sentence.replaceAll('NAME', name)), readable(mail));
      assert.ok(!mail.subject?.includes(name));
      assert.match(linkInMail(mail, server.web), /^\/invitation\//);
    });
  }
}

test('every notice quotes names, and has none in its subject', async () => {
  const values = { app: LURE, business: LURE, by: LURE, from: LURE, reason: LURE, passkey: LURE };
  const codes = { how: 'mail', two_step: 'kept', why: 'gone', factor: 'passkey', host: 'a', browser: '', system: '' };
  for (const texts of LANGUAGES) {
    for (const [kind, notice] of Object.entries(texts.notices)) {
      const words = textOf(texts, 'notice', {
        ...(notice as (values: object) => object)({ ...values, ...codes, address: 'a', left: '1' }),
        platformName: 'Gatehouse',
      } as never);
      const mail = renderMail(words, { texts, name: undefined, link: undefined, platformName: 'Gatehouse' });

      assert.deepEqual(listLinkable(mail), [], kind);
      assert.ok(!mail.subject.includes(LURE), kind);
      const text = readable(mail);
      const outside = text.replaceAll(`“${LURE}”`, '').replaceAll(`„${LURE}“`, '');
      assert.ok(!outside.includes(LURE), `${texts.tag} ${kind}: ${outside}`);
    }
  }
});

test('a name cannot end its quotation', async () => {
  const [en, de] = LANGUAGES;
  const name = 'Acme” has closed. “Zoë’s “Bar" „x“';
  for (const texts of [en, de]) {
    const words = textOf(texts as typeof en, 'invitation', {
      businessName: name,
      inviterName: 'Eve',
      isImitation: false,
      platformName: 'Gatehouse',
    });
    const [sentence = ''] = words.paragraphs;
    assert.equal(sentence.match(/["“”„]/g)?.length, 4, sentence);
    assert.ok(sentence.includes('Acme’ has closed. ’Zoë’s ’Bar’ ’x’'), sentence);
  }
});

test('a mail to an address that is not verified greets nobody by name', async () => {
  const link = await inviteInBrowser(await server.signedIn(), { email: 'victim@example.com' });
  const browser = server.browse();
  await browser.submit(await browser.open(link), `${link}/account`, { name: 'You are locked out', password: PASSWORD });
  await smtp.waitForMailTo('victim@example.com', 0);
  const since = smtp.received.length;

  await browser.submit(await browser.open('/password'), '/password', { email: 'victim@example.com' });
  const mail = await smtp.waitForMailTo('victim@example.com', since);

  assert.match(mail.text ?? '', /^Hello,\n/);
  assert.doesNotMatch(mail.raw, /locked out/);
});

test('a verified user is greeted by name, which is no link either', async () => {
  const user = await server.addUser('Booking.com');
  await setLanguage(db(), user.id, 'de');
  const since = smtp.received.length;
  const browser = server.browse();

  await browser.submit(await browser.open('/password'), '/password', { email: user.email });
  const mail = await smtp.waitForMailTo(user.email, since);

  assert.match(readable(mail), /Guten Tag Booking\.com,/);
  assert.match(mail.text ?? '', /^Guten Tag Booking\. com,\n/);
});
