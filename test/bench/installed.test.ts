import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { nextState } from '../../bench/browse.ts';
import { settingsFor } from '../../bench/contenders/hydra.ts';
import { fillIn } from '../../bench/contenders/keycloak-sign-in.ts';
import { startPeer } from '../../bench/contenders/peer.ts';
import { get } from '../../bench/http-client.ts';
import { readOptions } from '../../bench/options.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-installed-'));
after(() => rmSync(folder, { recursive: true }));

function namesFor(...args: string[]): string[] {
  return readOptions(args)?.contenders.map(({ name }) => name) ?? [];
}

function writeHydra(): string {
  const file = join(folder, 'hydra');
  writeFileSync(file, '#!/bin/sh\n[ "$1" = version ] && echo "Version:    v2.2.0"\n');
  chmodSync(file, 0o755);
  return file;
}

function writeKeycloak(): string {
  mkdirSync(join(folder, 'keycloak/bin'), { recursive: true });
  writeFileSync(join(folder, 'keycloak/bin/kc.sh'), '');
  writeFileSync(join(folder, 'keycloak/version.txt'), 'Keycloak - Version 26.0.7\n');
  return join(folder, 'keycloak');
}

test('Hydra and Keycloak are measured only if a path to them is given', () => {
  const args = ['--hydra', writeHydra(), '--keycloak', writeKeycloak()];

  assert.ok(!namesFor().some((name) => /hydra|keycloak/.test(name)));
  assert.deepEqual(namesFor(...args).slice(-2), ['hydra', 'keycloak']);
  assert.deepEqual(namesFor(...args, '--contenders', 'gatehouse-postgres,hydra'), ['gatehouse-postgres', 'hydra']);
  assert.throws(() => namesFor('--contenders', 'hydra'), /unknown name hydra/);
});

test('the report names the versions that were found at these paths', () => {
  const { contenders = [] } = readOptions(['--hydra', writeHydra(), '--keycloak', writeKeycloak()]) ?? {};

  assert.deepEqual(
    contenders.flatMap(({ program }) => program ?? []),
    [
      { name: 'Ory Hydra', version: 'v2.2.0' },
      { name: 'Keycloak', version: '26.0.7' },
    ],
  );
});

test('a path to something else ends the bench with what is expected there', () => {
  assert.throws(() => namesFor('--hydra', join(folder, 'none')), /--hydra: .*none is not .*the program of Ory Hydra/);
  assert.throws(() => namesFor('--hydra', '/bin/true'), /--hydra: \/bin\/true is not/);
  assert.throws(() => namesFor('--keycloak', folder), /--keycloak: .*folder of an unpacked Keycloak, with bin\/kc\.sh/);
});

test('Hydra listens on this machine alone, sends no telemetry, and finds the pages of the bench', () => {
  const addresses = { origin: 'http://127.0.0.1:1', admin: 'http://127.0.0.1:2', pages: 'http://127.0.0.1:3' };

  const settings = settingsFor(addresses, 'postgres://a:b@127.0.0.1:4/c');

  assert.equal(settings.DSN, 'postgres://a:b@127.0.0.1:4/c?sslmode=disable&max_conns=20');
  assert.deepEqual([settings.SERVE_PUBLIC_HOST, settings.SERVE_ADMIN_HOST], ['127.0.0.1', '127.0.0.1']);
  assert.deepEqual([settings.SERVE_PUBLIC_PORT, settings.SERVE_ADMIN_PORT], ['1', '2']);
  assert.equal(settings.SQA_OPT_OUT, 'true');
  assert.deepEqual(
    [settings.URLS_LOGIN, settings.URLS_CONSENT],
    ['http://127.0.0.1:3/login', 'http://127.0.0.1:3/consent'],
  );
});

test('every state is long enough for Hydra, including the first one', () => {
  assert.ok(nextState().length >= 8);
});

/** The parts of Hydra's admin API that its operator's pages use: https://www.ory.com/docs/hydra/reference/api */
async function startAdminApi(login: { skip: boolean; subject: string }) {
  const accepted: { address: string; body: unknown }[] = [];
  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join('');
    const { url = '' } = request;
    if (request.method === 'PUT') {
      accepted.push({ address: url, body: JSON.parse(body) });
      response.end(JSON.stringify({ redirect_to: `http://hydra.example/next?after=${url.includes('login')}` }));
      return;
    }
    const consent = { requested_scope: ['offline_access', 'read:invoices'], requested_access_token_audience: [] };
    response.end(JSON.stringify(url.includes('/consent?') ? consent : login));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  return { accepted, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function openPage(admin: string, path: string): Promise<Response> {
  const pages = await startPeer('hydra-pages', { ADMIN: admin });
  after(() => pages.stop());
  return fetch(pages.origin + path, { redirect: 'manual' });
}

test('the sign-in page for Hydra accepts the named user, and Hydra remembers the browser', async () => {
  const admin = await startAdminApi({ skip: false, subject: '' });

  const response = await openPage(admin.url, '/login?login_challenge=a%2Bb&as=person-3');

  assert.equal(response.headers.get('location'), 'http://hydra.example/next?after=true');
  assert.deepEqual(admin.accepted, [
    {
      address: '/admin/oauth2/auth/requests/login/accept?login_challenge=a%2Bb',
      body: { subject: 'person-3', remember: true },
    },
  ]);
});

test('a user whom Hydra remembers is accepted without a name, and any other browser is not', async () => {
  const known = await startAdminApi({ skip: true, subject: 'person-5' });
  const unknown = await startAdminApi({ skip: false, subject: '' });

  await openPage(known.url, '/login?login_challenge=c');
  const rejected = await openPage(unknown.url, '/login?login_challenge=c');

  assert.deepEqual(known.accepted[0]?.body, { subject: 'person-5', remember: false });
  assert.equal(rejected.status, 502);
  assert.deepEqual(unknown.accepted, []);
});

test('the consent page for Hydra grants what was requested', async () => {
  const admin = await startAdminApi({ skip: false, subject: '' });

  const response = await openPage(admin.url, '/consent?consent_challenge=c');

  assert.equal(response.status, 302);
  assert.deepEqual(admin.accepted[0]?.body, {
    grant_scope: ['offline_access', 'read:invoices'],
    grant_access_token_audience: [],
    remember: true,
  });
});

const ORIGIN = 'http://127.0.0.1:8080';

function submit(form: string): string {
  const page = { status: 200, head: 'HTTP/1.1 200 OK', body: `<html>${form}</html>` };
  return fillIn({ index: 3, cookie: 'AUTH_SESSION_ID=s' }, get(ORIGIN, '/'), page).text;
}

test("Keycloak's sign-in form and its consent form are submitted with their hidden fields", () => {
  const signIn =
    submit(`<form id="kc-form-login" onsubmit="x" action="${ORIGIN}/authenticate?session_code=a&amp;tab_id=b">
    <input name="username" type="text"/><input name="password" type="password"/>
    <input type="hidden" id="id-hidden-input" name="credentialId" /></form>`);
  const consent = submit(`<form class="form-actions" action="${ORIGIN}/consent?tab_id=b" method="POST">
    <input type="hidden" name="code" value="c1"><input name="accept" type="submit" value="Yes"/></form>`);

  assert.match(signIn, /^POST \/authenticate\?session_code=a&tab_id=b HTTP[\s\S]*cookie: AUTH_SESSION_ID=s\r\n/);
  assert.match(signIn, /credentialId=&username=person-3&password=correct\+horse\+battery$/);
  assert.match(consent, /^POST \/consent\?tab_id=b HTTP[\s\S]*code=c1&accept=Yes$/);
});

test('a page of Keycloak that reports an error ends the run', () => {
  assert.throws(() => submit('<h1>We are sorry</h1>'), /should be the form to sign in/);
  const rejected = `<form action="${ORIGIN}/a"><span class="kc-feedback-text">Invalid username</span><input name="password"/></form>`;
  assert.throws(() => submit(rejected), /should be the form to sign in/);
});
