import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { createWorkspace, openGuide } from '../support/guides.ts';
import { freePort } from '../support/ports.ts';
import { startTestServer } from '../support/test-server.ts';

const guide = openGuide('protect-your-own-api');
const server = await startTestServer();
const desk = createWorkspace();
const app = await server.addApp({ ownerBusinessId: server.acme.id, scopes: ['read:reports', 'read:invoices'] });
const credentials = { client_id: app.id, client_secret: app.secret };
const env = { BASE_URL: server.api, CLIENT_ID: app.id, CLIENT_SECRET: app.secret, GATEHOUSE: desk.checkout };
const browser = await server.signedIn();
const curl = guide.take('Try it', 'sh');

before(async () => {
  await desk.bash('npm pack --silent "$GATEHOUSE/sdk/typescript" && npm install --silent ./*.tgz', { env }).ends();
  for (const name of ['fastify', 'express']) desk.borrow(name);
});

async function tokensFor(scope: string) {
  const code = await server.allow({ client_id: app.id, scope }, browser);
  return (await server.exchange(code, credentials)).body;
}

for (const framework of ['Fastify', 'Express']) {
  test(`the ${framework} example accepts tokens of its own app with the right scope, and no others`, async () => {
    const file = `${framework}.ts`;
    desk.save(file, guide.take(framework, 'ts'));
    const PORT = String(await freePort());
    const program = desk.run([process.execPath, file], { env: { ...env, PORT } });
    await program.prints(/http:/);
    const ask = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`http://127.0.0.1:${PORT}/reports`, { headers })).status;
    };
    const [good, narrow, foreign] = [
      await tokensFor('read:reports'),
      await tokensFor('read:invoices'),
      await server.connect(),
    ];

    const printed = await desk.bash(curl, { env: { ...env, PORT, ACCESS_TOKEN: good.access_token } }).ends();
    const statuses = [];
    for (const token of [good.access_token, narrow.access_token, good.refresh_token, foreign.access_token, 'x']) {
      statuses.push(await ask(token));
    }
    await server.revoke(good.refresh_token);

    assert.deepEqual(JSON.parse(printed), { businessId: server.acme.id, reports: ['Profit and loss', 'Aged debtors'] });
    assert.deepEqual(statuses, [200, 403, 401, 401, 401]);
    assert.equal(await ask(good.access_token), 401);
    assert.equal((await fetch(`http://127.0.0.1:${PORT}/reports`)).status, 401);
    program.stop();
  });
}
