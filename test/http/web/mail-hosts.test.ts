import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE } from '../../../src/lib/clock.ts';
import { type Browser, type Fields, hiddenFields, toBody } from '../../support/browser.ts';
import { PASSWORD } from '../../support/fixtures.ts';
import { inviteInBrowser, MEMBERS } from '../../support/invitations.ts';
import { linkInMail, startMailServer } from '../../support/mail-server.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/test-server.ts';

const smtp = await startMailServer({ wantsNotices: true });
// Behind a trusted proxy, the server uses X-Forwarded-… only for the address of the client.
const server = await startTestServer({ ...smtp.env, TRUST_PROXY: '127.0.0.1,::1' });
const owner = await server.signedIn();

const FORGED: [name: string, value: string][] = [
  ['Host', 'evil.example'],
  ['X-Forwarded-Host', 'evil.example'],
  ['X-Forwarded-Proto', 'ftp'],
  ['X-Forwarded-Port', '666'],
  ['X-Original-Host', 'evil.example'],
  ['Forwarded', 'host=evil.example;proto=ftp'],
];

/** Submits a form with headers that name another host. */
async function forge(browser: Browser, path: string, fields: Fields): Promise<void> {
  const body = String(toBody({ csrf: await browser.csrf(), ...fields }));
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
  const { status, text, location } = await sendRaw(server.web, {
    path,
    method: 'POST',
    headers: [
      ...FORGED,
      ['Cookie', cookie],
      ['Content-Type', 'application/x-www-form-urlencoded'],
      ['Content-Length', String(body.length)],
    ],
    body,
  });
  assert.ok([200, 303].includes(status), `${status} ${text}`);
  assert.doesNotMatch(`${text} ${location}`, /evil/);
}

/** Each mail that a request can cause, by its recipient. */
const CASES: Record<string, () => Promise<string>> = {
  'a link to set a password': async () => {
    await forge(server.browse(), '/password', { email: server.ada.email });
    return server.ada.email;
  },
  'an invitation': async () => {
    const email = 'guest-of-ada@example.org';
    const form = hiddenFields((await owner.open(`${MEMBERS}/invite`)).text, `${MEMBERS}/invite`);
    await forge(owner, server.acmePath('members/invite'), { ...form, role: 'member', email });
    return email;
  },
  'an invitation that is sent again': async () => {
    const email = 'late-guest@example.org';
    await inviteInBrowser(owner, { email });
    const link = linkInMail(await mailTo(email), server.web);
    server.advanceClock(31 * MINUTE);
    await forge(server.browse(), `${link}/mail`, {});
    // Mails to one recipient are a minute apart.
    server.advanceClock(MINUTE);
    return email;
  },
  'a link to confirm a new address': async () => {
    const browser = await server.signedIn(await server.addUser('Nell'));
    await forge(browser, '/settings/address', { email: 'nell@example.org', current_password: PASSWORD });
    return 'nell@example.org';
  },
  'the notice of a change to the present address': async () => {
    const user = await server.addUser('Olga');
    await forge(await server.signedIn(user), '/settings/address', {
      email: 'olga@example.org',
      current_password: PASSWORD,
    });
    return user.email;
  },
  'the notice of a sign-in': async () => {
    const user = await server.addUser('Pia');
    await forge(server.browse(), '/sign-in', { email: user.email, password: PASSWORD });
    return user.email;
  },
};

/** The newest mail to an address that has not been returned before. */
const seen = new Set<object>();
async function mailTo(address: string) {
  for (let count = 1; ; count++) {
    const mail = await smtp.waitFor(count);
    if (seen.has(mail) || !mail.recipients.includes(address)) continue;
    seen.add(mail);
    return mail;
  }
}

for (const [what, cause] of Object.entries(CASES)) {
  test(`${what} has only links on CONSENT_URL, whatever Host and X-Forwarded-Host the request names [X3]`, async () => {
    const mail = await mailTo(await cause());

    const links = [...`${mail.text} ${mail.html}`.matchAll(/https?:\/\/[^\s"<]+/g)].map(([link]) => link);
    assert.ok(links.length > 0, mail.raw);
    for (const link of links) assert.equal(new URL(link).origin, server.web);
    assert.doesNotMatch(mail.raw, /evil|:666\b|ftp:/);
  });
}
