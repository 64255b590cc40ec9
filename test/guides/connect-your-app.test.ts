import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decide } from '../clients/visitor.ts';
import { HAS_PIP, NO_PYTHON } from '../sdk/python/interpreter.ts';
import { newDesk, openGuide } from '../support/guides.ts';
import { freePort } from '../support/ports.ts';
import { newWorld, type World } from '../support/world.ts';

const guide = openGuide('connect-your-app');
const world = await newWorld();
const desk = newDesk();
for (const number of ['INV-1', 'INV-2', 'INV-3']) await world.addInvoice(world.acme, { number });
const registration = await register();
const env = {
  BASE_URL: world.api,
  CLIENT_ID: registration.client_id,
  CLIENT_SECRET: registration.client_secret,
  GATEHOUSE: desk.checkout,
};

/** What the guide says under "Register it". */
async function register() {
  const program = desk.bash(guide.take('Register it', 'sh'), {
    cwd: desk.checkout,
    env: { DATABASE_URL: world.settings.databaseUrl, BUSINESS: world.acme.id },
  });
  return JSON.parse(await program.ends());
}

test('the curl of the guide connects, lists, refreshes and revokes', async () => {
  const program = desk.bash(guide.take('With curl', 'sh'), { env });

  const address = await program.prints(/^Open (.+)$/m);
  program.say((await decide(world, address)).href);
  const printed = await program.ends();

  assert.match(printed, /\[\{"id":"[^"]+","number":"INV-3","status":"SENT","total":"1234.50"/);
  assert.match(printed, /\}\]\{\}$/, 'the last answer is an empty object');
});

test('the TypeScript of the guide is a working app', async () => {
  const source = guide.take('With TypeScript', 'ts');
  await desk.bash(guide.take('With TypeScript', 'sh'), { env }).ends();
  desk.save('app.ts', source);
  const PORT = String(await freePort());

  const program = desk.run([process.execPath, 'app.ts'], { env: { ...env, PORT } });
  const page = await visit(world, await program.prints(/^Open (.+)$/m));

  assert.equal(page, listing(['INV-3', 'INV-2', 'INV-1']));
  program.stop();
});

test('the Python of the guide is a working app', {
  skip: NO_PYTHON || (HAS_PIP ? false : 'python3 has no pip'),
}, async () => {
  const source = guide.take('With Python', 'python');
  await desk.bash(guide.take('With Python', 'sh'), { env }).ends();
  desk.save('app.py', source);
  const PORT = String(await freePort());

  const program = desk.run(['python3', 'app.py'], { env: { ...env, PORT, PYTHONPATH: 'packages' } });
  const page = await visit(world, await program.prints(/^Open (.+)$/m));

  assert.equal(page.trimEnd(), listing(['INV-3', 'INV-2', 'INV-1']).trimEnd());
  program.stop();
});

const listing = (numbers: string[]) =>
  ['Invoices of Acme', ...numbers.map((number) => `${number} SENT 1234.50 GBP`), ''].join('\n');

/** Opens the app, follows it to Gatehouse, allows it, comes back, and reads what it shows. */
async function visit({ api }: World, home: string): Promise<string> {
  const first = await fetch(home, { redirect: 'manual' });
  const headers = { cookie: first.headers.get('set-cookie')?.split(';')[0] ?? '' };
  const address = first.headers.get('location') ?? '';
  assert.ok(address.startsWith(`${api}/api/v1/oauth/authorize?`), address);
  const back = await fetch(await decide(world, address), { headers, redirect: 'manual' });
  assert.equal(back.status, 303, await back.text());
  return (await fetch(home, { headers })).text();
}
