import { createPasswordLink } from '../../src/accounts/password-links.ts';
import { OPERATOR } from '../../src/audit/entries.ts';
import { en, type Texts } from '../../src/languages/en.ts';
import { DAY, MINUTE } from '../../src/lib/clock.ts';
import { blockApp, decideRequest, requestApproval, setAppPolicy } from './app-rules.ts';
import type { Browser, BrowserPage } from './browser.ts';
import { externalRequest, startDocumentHost } from './client-document-host.ts';
import { PASSWORD } from './fixtures.ts';
import { inviteInBrowser, listWithdrawActions } from './invitations.ts';
import { linkInMail, startMailServer } from './mail-server.ts';
import { startTestServer, type TestServer } from './test-server.ts';
import { addTwoStepUser, enterPassword, SECOND_STEP } from './two-step.ts';
import { registerByInvitation } from './unverified.ts';

/** Keyed by a description of the page. */
export type HostedPages = Map<string, BrowserPage>;

/** Every hosted page in one language, with every message that its forms can show. */
export async function openHostedPages(texts: Texts): Promise<{ server: TestServer; pages: HostedPages }> {
  const smtp = await startMailServer();
  const documents = await startDocumentHost();
  const bounds = { MAX_EXTERNAL_APPS_PER_USER: '1', MAX_EXTERNAL_APPS_PER_BUSINESS: '1' };
  const env = { ...smtp.env, ...bounds, WEBHOOKS_TO_LOOPBACK: 'yes', DYNAMIC_REGISTRATION: 'on' };
  const server = await startTestServer(env, undefined, { languages: [texts] });
  const pages: HostedPages = new Map();
  const site = { server, pages, smtp };
  await openSignIn(site);
  await openPasswords(site);
  await openConsent(site);
  await openExternalConsent(site, documents);
  await openInvitations(site);
  await openErrors(site);
  await openRestrictions(site);
  return { server, pages };
}

interface Site {
  server: TestServer;
  pages: HostedPages;
  smtp: Awaited<ReturnType<typeof startMailServer>>;
}

async function openSignIn({ server, pages }: Site): Promise<void> {
  const browser = server.browse();
  const page = await browser.open(server.authorizeUrl());
  pages.set('sign-in', page);
  pages.set('sign-in, wrong password', await browser.signIn(server.ada.email, 'wrong', page));
  const csrf = await browser.csrf();
  pages.set('sign-in, wrong passkey', await browser.post('/sign-in/passkey', { csrf, credential: '{}' }));
  for (const done of Object.keys(en.signInMessages)) {
    pages.set(`sign-in, ${done}`, await browser.open(`/sign-in?done=${done}`));
  }
  pages.set('sign-out', await browser.open('/sign-out'));
  const { user } = await addTwoStepUser(server, 'Tova');
  const other = server.browse();
  const step = await enterPassword(other, user);
  pages.set('second step', step);
  pages.set('second step, wrong code', await other.submit(step, SECOND_STEP, { code: '000000' }));
  pages.set('second step, wrong recovery code', await other.submit(step, SECOND_STEP, { recovery_code: 'x' }));
}

async function openPasswords({ server, pages, smtp }: Site): Promise<void> {
  const db = server.storage().durable;
  const browser = server.browse();
  const form = await browser.open('/password');
  pages.set('forgotten password', form);
  pages.set('forgotten password, no address', await browser.submit(form, '/password', { email: 'nobody' }));
  pages.set('forgotten password, mixed', await browser.submit(form, '/password', { email: 'аda@example.com' }));
  const { user } = await addTwoStepUser(server, 'Nils');
  const created = await createPasswordLink(OPERATOR, db, { userId: user.id, businessId: null }, server.clock());
  const path = `/password/${created?.token}`;
  const link = await browser.open(path);
  pages.set('new password', link);
  for (const password of ['short', 'password1', user.email, 'a password'.repeat(200)]) {
    pages.set(`new password, ${password.slice(0, 9)}`, await browser.submit(link, path, { password }));
  }
  const since = smtp.received.length;
  await browser.submit(form, '/password', { email: user.email });
  const mailed = linkInMail(await smtp.waitFor(since + 1), server.web);
  pages.set('new password, mailed', await browser.open(mailed));
  pages.set('new password, closed', await browser.open('/password/unknown'));
}

async function openConsent({ server, pages }: Site): Promise<void> {
  const owner = await server.signedIn();
  const open = (changes: Record<string, string>) => owner.open(server.authorizeUrl(changes));
  pages.set('consent', await open({}));
  const optional = await open({ scope: 'read:contacts', optional_scope: 'read:contacts' });
  pages.set('consent, optional', optional);
  const submit = (fields: Record<string, string | string[]>) => owner.submit(optional, '/consent', fields);
  pages.set('consent, nothing ticked', await submit({ decision: 'allow', optional_scope: [] }));
  pages.set('consent, no end', await submit({ decision: 'allow', ends: 'never' }));
  await owner.submit(await open({}), '/consent', { decision: 'allow', connected_for: 'business', ends: '7' });
  const more = { scope: 'read:invoices write:invoices', optional_scope: 'read:invoices read:contacts' };
  pages.set('consent, more', await open(more));
  const consented = await open({ scope: 'write:invoices' });
  const { leftTo } = await owner.submit(consented, '/consent', { decision: 'allow' });
  await server.exchange(leftTo?.searchParams.get('code') ?? '');
  pages.set('error, consent twice', await owner.submit(consented, '/consent', { decision: 'allow' }));
  const sensitive = ['read:expenses', 'read:reports', 'read:employees', 'read:orders', 'read:deals', 'write:deals'];
  const business = await server.addBusiness('Borealis');
  const roles: [typeof business, 'owner'][] = [
    [server.acme, 'owner'],
    [business, 'owner'],
  ];
  const both = await server.signedIn(await server.addUser('Omar', roles));
  const books = await server.addApp({
    name: 'Books',
    ownerBusinessId: server.acme.id,
    openToAnyBusiness: true,
    scopes: sensitive,
  });
  const request = { client_id: books.id, scope: sensitive.join(' ') };
  const page = await both.open(server.authorizeUrl(request));
  pages.set('consent, sensitive', page);
  pages.set('consent, switched', await both.submit(page, '/consent', { decision: 'switch', business: business.id }));
}

async function openExternalConsent(
  { server, pages }: Site,
  documents: Awaited<ReturnType<typeof startDocumentHost>>,
): Promise<void> {
  const owner = await server.signedIn();
  const open = (changes: Record<string, string>) => owner.open(server.authorizeUrl(changes));
  pages.set('consent, document', await open(externalRequest(server, documents.newClientId())));
  const redirectUri = 'http://127.0.0.1/callback';
  const platform = await server.addApp({ name: 'Console', isPublic: true, redirectUris: [redirectUri] });
  const { code_challenge = '', code_challenge_method = '' } = externalRequest(server, '');
  const request = { redirect_uri: redirectUri, code_challenge, code_challenge_method };
  pages.set('consent, platform, this device', await open({ client_id: platform.id, ...request }));
  const { body } = await server.sendJson('POST', '/api/v1/oauth/register', {
    client_name: 'Self',
    redirect_uris: ['https://assistant.example/callback'],
  });
  pages.set('consent, registered itself', await open(externalRequest(server, body.client_id)));
  const allow = async (browser: Browser) => {
    const screen = await browser.open(server.authorizeUrl(externalRequest(server, documents.newClientId())));
    return browser.submit(screen, '/consent', { decision: 'allow' });
  };
  await allow(owner);
  pages.set('consent, too many apps of the user', await allow(owner));
  const member = await server.addUser('Xaver', [[server.acme, 'member']]);
  pages.set('consent, too many apps of the business', await allow(await server.signedIn(member)));
}

async function openInvitations({ server, pages, smtp }: Site): Promise<void> {
  const owner = await server.signedIn();
  const path = await inviteInBrowser(owner);
  const guest = server.browse();
  const offered = await guest.open(path);
  pages.set('invitation', offered);
  const register = (fields: Record<string, string>) =>
    guest.submit(offered, `${path}/account`, { name: 'Guest', password: PASSWORD, ...fields });
  for (const name of ['', '\u200d\u200d', 'x'.repeat(90), 'a\u202eb']) {
    pages.set(`invitation, name of ${name.length}`, await register({ name }));
  }
  for (const role of ['owner', 'admin']) {
    pages.set(`invitation, ${role}`, await guest.open(await inviteInBrowser(owner, { role })));
  }
  pages.set('invitation, member', await owner.open(path));
  const nina = await server.addUser('Nina');
  pages.set('invitation, other address', await (await server.signedIn(nina)).open(path));
  const taken = await inviteInBrowser(owner, { email: nina.email });
  pages.set('invitation, join', await (await server.signedIn(nina)).open(taken));
  pages.set('invitation, taken', await submitAccount(server.browse(), taken));
  await openUnverified({ server, pages, smtp }, owner);
  const since = smtp.received.length;
  const last = await inviteInBrowser(owner, { email: 'late@example.com' });
  const mailed = linkInMail(await smtp.waitForMailTo('late@example.com', since), server.web);
  server.advanceClock(31 * MINUTE);
  pages.set('invitation, old mail', await server.browse().open(mailed));
  await submitAccount(server.browse(), last);
  pages.set('invitation, used', await server.browse().open(last));
  server.advanceClock(8 * DAY);
  pages.set('invitation, expired', await server.browse().open(path));
  pages.set('invitation, unknown', await server.browse().open('/invitation/unknown'));
  const again = await server.signedIn();
  const withdrawn = await inviteInBrowser(again);
  const [withdraw = ''] = await listWithdrawActions(again);
  await again.submit(await again.open('/settings/members/invitations'), withdraw);
  pages.set('invitation, withdrawn', await server.browse().open(withdrawn));
}

async function submitAccount(browser: Browser, path: string): Promise<BrowserPage> {
  return browser.submit(await browser.open(path), `${path}/account`, { name: 'Guest', password: PASSWORD });
}

async function openUnverified({ server, pages }: Site, owner: Browser): Promise<void> {
  const email = 'uma@example.com';
  const { browser } = await registerByInvitation(server, { owner, name: 'Uma', email });
  const bolt = await server.addBusiness('Bolt');
  const other = await server.signedIn(await server.addUser('Olaf', [[bolt, 'owner']]));
  pages.set('invitation, not verified', await browser.open(await inviteInBrowser(other, { email })));
}

async function openErrors({ server, pages }: Site): Promise<void> {
  const browser = server.browse();
  pages.set('error, nowhere', await browser.open('/nowhere'));
  pages.set('error, forged', await browser.post('/sign-in', { email: 'x' }));
  pages.set('error, no app', await browser.open(server.authorizeUrl({ client_id: undefined })));
  pages.set('error, unknown app', await browser.open(server.authorizeUrl({ client_id: 'nobody' })));
  const foreign = 'https://evil.example/callback';
  pages.set('error, foreign redirect', await browser.open(server.authorizeUrl({ redirect_uri: foreign })));
}

/** Has to run last, since it changes who may connect apps. */
async function openRestrictions({ server, pages }: Site): Promise<void> {
  const owner = await server.signedIn();
  const mia = await server.addUser('Mia', [[server.acme, 'member']]);
  const member = await server.signedIn(mia);
  const open = (changes: Record<string, string> = {}) => member.open(server.authorizeUrl(changes));
  const app = await server.addApp({ name: 'Notes', ownerBusinessId: server.acme.id });
  const request = { client_id: app.id };
  await setAppPolicy(owner, 'approved');
  pages.set('restriction, approval', await open(request));
  pages.set('restriction, long note', await requestApproval(server, member, request, 'x'.repeat(300)));
  pages.set('restriction, requested', await requestApproval(server, member, request));
  await decideRequest(owner, { app, user: mia }, 'refuse', 'Because');
  pages.set('restriction, refused', await open(request));
  await setAppPolicy(owner, 'admins');
  pages.set('restriction, admins', await open(request));
  await setAppPolicy(owner, 'anyone', 'yes');
  const staff = await server.addApp({ name: 'Staff', ownerBusinessId: server.acme.id, scopes: ['read:employees'] });
  pages.set('restriction, owners', await open({ client_id: staff.id, scope: 'read:employees' }));
  await blockApp(owner, app, 'Because');
  pages.set('restriction, blocked', await open(request));
}
