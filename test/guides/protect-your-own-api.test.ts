import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { createWorkspace, openGuide } from '../support/guides.ts';
import { freePort } from '../support/ports.ts';
import { startTestServer } from '../support/test-server.ts';

const guide = openGuide('protect-your-own-api');
const server = await startTestServer({ BUSINESS_API: 'off' });
const workspace = createWorkspace();
const app = await server.addApp({ ownerBusinessId: server.acme.id, scopes: ['read:reports', 'read:invoices'] });
const browser = await server.signedIn();
const commands = {
  register: guide.take('Register it', 'sh'),
  introspect: guide.take('By hand', 'sh'),
  install: guide.take('Install the guard', 'sh'),
  curl: guide.take('Try it', 'sh'),
};
let env: Record<string, string> = {};

before(async () => {
  const database = { DATABASE_URL: server.settings.databaseUrl };
  const registered = await workspace.bash(commands.register, { cwd: workspace.checkout, env: database }).waitForExit();
  const { client_id, client_secret } = JSON.parse(registered);
  await server.listForIntrospection({ id: client_id });
  env = { BASE_URL: server.api, CLIENT_ID: client_id, CLIENT_SECRET: client_secret, GATEHOUSE: workspace.checkout };
  await workspace.bash(commands.install, { env }).waitForExit();
  for (const name of ['fastify', 'express']) workspace.linkPackage(name);
});

async function tokensFor(scope: string) {
  const code = await server.allow({ client_id: app.id, scope }, browser);
  return (await server.exchange(code, { client_id: app.id, client_secret: app.secret })).body;
}

test('the introspection by hand describes a token of another app', async () => {
  const { access_token } = await tokensFor('read:reports');

  const printed = await workspace
    .bash(commands.introspect, { env: { ...env, ACCESS_TOKEN: access_token } })
    .waitForExit();

  const { active, token_type, scope, client_id, business_id } = JSON.parse(printed);
  assert.deepEqual([active, token_type, scope], [true, 'bearer', 'read:reports']);
  assert.deepEqual([client_id, business_id], [app.id, server.acme.id]);
});

for (const framework of ['Fastify', 'Express']) {
  test(`the ${framework} example accepts tokens of any app with the right scope, and no others`, async () => {
    const file = `${framework}.ts`;
    workspace.save(file, guide.take(framework, 'ts'));
    const PORT = String(await freePort());
    const program = workspace.run([process.execPath, file], { env: { ...env, PORT } });
    await program.waitForOutput(/http:/);
    const callApi = async (token: string, business = server.acme.id) => {
      const headers = { authorization: `Bearer ${token}`, 'x-business-id': business };
      return (await fetch(`http://127.0.0.1:${PORT}/reports`, { headers })).status;
    };
    const [good, narrow] = [await tokensFor('read:reports'), await tokensFor('read:invoices')];
    const revoked = await tokensFor('read:reports');
    await server.revoke(revoked.access_token);

    const request = { ...env, PORT, ACCESS_TOKEN: good.access_token, BUSINESS: server.acme.id };
    const printed = await workspace.bash(commands.curl, { env: request }).waitForExit();
    const statuses = [];
    for (const { access_token } of [good, narrow, revoked]) statuses.push(await callApi(access_token));
    for (const token of [good.refresh_token, 'x']) statuses.push(await callApi(token));

    assert.deepEqual(JSON.parse(printed), { businessId: server.acme.id, reports: ['Profit and loss', 'Aged debtors'] });
    assert.deepEqual(statuses, [200, 403, 401, 401, 401]);
    assert.equal(await callApi(good.access_token, app.id), 403);
    assert.equal((await fetch(`http://127.0.0.1:${PORT}/reports`)).status, 401);
    program.stop();
  });
}
