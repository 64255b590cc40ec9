import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readSettings } from '../../src/config.ts';
import { newSecret } from '../../src/lib/secrets.ts';
import { createWorkspace, openGuide } from '../support/guides.ts';
import { freePort } from '../support/ports.ts';
import { startPostgres } from '../support/postgres-server.ts';

const guide = openGuide('run-in-production');
const desk = createWorkspace();
const postgres = await startPostgres();
after(() => postgres.remove());

/** The guide's own addresses are nobody's: the folder of the system, and the database of another company. */
function here(script: string): string {
  const key = join(desk.folder, 'gatehouse.key');
  const database = /'postgres:[^']*'/;
  assert.match(script, database);
  return script.replaceAll('/etc/gatehouse.key', key).replace(database, `'${postgres.url}'`);
}

test('a machine is set up as the guide says, and serves behind its proxy', async () => {
  const port = await freePort();
  const program = desk.bash(here(guide.take('A machine', 'sh')), {
    cwd: desk.checkout,
    env: { LISTEN: `127.0.0.1:${port}`, CONSENT_LISTEN: `127.0.0.1:${await freePort()}` },
  });

  await program.prints(/Server listening[^\n]*\n[^\n]*Server listening/);
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
  const metadata = await fetch(`http://127.0.0.1:${port}/.well-known/oauth-authorization-server`);

  assert.equal(ready.status, 200);
  assert.equal((await metadata.json()).issuer, 'https://api.example.com');
  assert.match(ready.headers.get('strict-transport-security') ?? '', /max-age=63072000/);
  assert.equal(statSync(join(desk.folder, 'gatehouse.key')).mode & 0o777, 0o600);
  program.stop();
});

test('the settings of the guide switch mail on', () => {
  const exports = guide.take('Mail', 'sh').matchAll(/^export (\w+)='([^']+)'$/gm);
  const env = Object.fromEntries([...exports].map(([, name = '', value = '']) => [name, value]));

  const { smtp } = readSettings({ ...env, SECRET_KEYS: newSecret() });

  assert.deepEqual(smtp?.from, { name: 'Acme', address: 'no-reply@example.com' });
});
