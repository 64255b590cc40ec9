import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decide } from '../sdk/clients/visitor.ts';
import { NO_PYTHON } from '../sdk/python/interpreter.ts';
import { createWorkspace, openGuide } from '../support/guides.ts';
import { freePort } from '../support/ports.ts';
import { downloadPythonPackages, type Packages } from '../support/python-packages.ts';
import { startTestServer } from '../support/test-server.ts';

const guide = openGuide('connect-your-app');
const server = await startTestServer();
const workspace = createWorkspace();
for (const number of ['INV-1', 'INV-2', 'INV-3']) await server.addInvoice(server.acme, { number });
const registration = await register();
const env = {
  BASE_URL: server.api,
  CLIENT_ID: registration.client_id,
  CLIENT_SECRET: registration.client_secret,
  GATEHOUSE: workspace.checkout,
};

// Before the first test: a test may run during any later `await` of this file.
const packages: Packages = NO_PYTHON ? { missing: NO_PYTHON } : await downloadPythonPackages();

/** The app that the guide registers under "Register it". */
async function register() {
  const program = workspace.bash(guide.take('Register it', 'sh'), {
    cwd: workspace.checkout,
    env: { DATABASE_URL: server.settings.databaseUrl, BUSINESS: server.acme.id },
  });
  return JSON.parse(await program.waitForExit());
}

test('the curl of the guide connects, lists, refreshes and revokes', async () => {
  const program = workspace.bash(guide.take('With curl', 'sh'), { env });

  const address = await program.waitForOutput(/^Open (.+)$/m);
  program.writeLine((await decide(server, address)).href);
  const printed = await program.waitForExit();

  assert.match(printed, /"token_type":"bearer"/);
  assert.match(printed, /\[\{"id":"[^"]+","number":"INV-3","status":"SENT","total":"1234.50"/);
  assert.match(printed, /\}\]\{\}$/, 'the last response is an empty object');
});

const typescript = { install: guide.take('With TypeScript', 'sh'), source: guide.take('With TypeScript', 'ts') };

test('the TypeScript of the guide is a working app', async () => {
  await workspace.bash(typescript.install, { env }).waitForExit();
  workspace.save('app.mts', typescript.source);
  const PORT = String(await freePort());

  const program = workspace.run([process.execPath, 'app.mts'], { env: { ...env, PORT } });
  const home = await program.waitForOutput(/^Open (.+)$/m);

  await assertWorks(home);
  program.stop();
});

const python = { install: guide.take('With Python', 'sh'), source: guide.take('With Python', 'python') };

test('the Python of the guide is a working app', { skip: packages.missing }, async () => {
  // pip installs the build backend from this folder, and not from the network.
  await workspace.bash(python.install, { env: { ...env, PIP_FIND_LINKS: packages.wheels ?? '' } }).waitForExit();
  workspace.save('app.py', python.source);
  const PORT = String(await freePort());

  const program = workspace.run(['python3', 'app.py'], { env: { ...env, PORT, PYTHONPATH: 'packages' } });
  const home = await program.waitForOutput(/^Open (.+)$/m);

  await assertWorks(home);
  program.stop();
});

/** Opens the app, allows it and reads its page; then disconnects it, and connects again. */
async function assertWorks(home: string): Promise<void> {
  const visitor = await connect(home);
  const shown = await fetch(home, { headers: visitor });
  await disconnectAll();
  const rejected = await fetch(home, { headers: visitor });
  const again = await fetch(home, { headers: visitor, redirect: 'manual' });

  assert.equal(await shown.text(), LISTING);
  assert.equal(shown.headers.get('content-type')?.toLowerCase(), 'text/plain; charset=utf-8');
  assert.match(await rejected.text(), /^invalid_grant: The user disconnected the app/);
  assert.equal(again.status, 303);
  const reconnected = await fetch(home, { headers: await connect(home) });
  assert.equal(await reconnected.text(), LISTING);
}

const LISTING = `Invoices of Acme\n${['INV-3', 'INV-2', 'INV-1'].map((number) => `${number} SENT 1234.50 GBP\n`).join('')}`;

/** Follows the redirects to Gatehouse and back to the app, like a browser. The app sets a new cookie at each step. */
async function connect(home: string): Promise<{ cookie: string }> {
  const first = await fetch(home, { redirect: 'manual' });
  const address = first.headers.get('location') ?? '';
  assert.ok(address.startsWith(`${server.api}/api/v1/oauth/authorize?`), address);
  const callback = await decide(server, address);
  const back = await fetch(callback, { headers: { cookie: cookieOf(first) }, redirect: 'manual' });
  assert.equal(back.status, 303, await back.text());
  assert.notEqual(cookieOf(back), cookieOf(first));
  return { cookie: cookieOf(back) };
}

const cookieOf = ({ headers }: Response) => headers.get('set-cookie')?.split(';')[0] ?? '';

async function disconnectAll(): Promise<void> {
  const ada = await server.signedIn();
  const page = await ada.open('/settings/connected-apps');
  await ada.submit(page, '/settings/connected-apps/disconnect');
}
