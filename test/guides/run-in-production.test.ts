import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { readSettings } from '../../src/config/settings.ts';
import { newSecret } from '../../src/lib/secrets.ts';
import { readPostgresUrl } from '../../src/storage/postgres/url.ts';
import { readCompose } from '../deploy/compose.ts';
import { readImage, readText, SETTINGS, version } from '../deploy/files.ts';
import { createWorkspace, openGuide } from '../support/guides.ts';
import { freePort } from '../support/ports.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { createDeployment, optionsIn } from './deploy.ts';

const guide = openGuide('run-in-production');
const workspace = createWorkspace();
const postgres = await startPostgres();
after(() => postgres.remove());

/** Replaces the guide's system folder and database URL, which do not exist here. */
function here(script: string): string {
  const key = join(workspace.folder, 'gatehouse.key');
  const database = /'postgres:[^']*'/;
  assert.match(script, database);
  return script.replaceAll('/etc/gatehouse.key', key).replace(database, `'${postgres.url}'`);
}

test('a machine that is set up as in the guide serves behind its proxy', async () => {
  const port = await freePort();
  const program = workspace.bash(here(guide.take('Install it on a machine', 'sh')), {
    cwd: workspace.checkout,
    env: { LISTEN: `127.0.0.1:${port}`, CONSENT_LISTEN: `127.0.0.1:${await freePort()}` },
  });

  await program.waitForOutput(/Server listening[^\n]*\n[^\n]*Server listening/);
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
  const metadata = await fetch(`http://127.0.0.1:${port}/.well-known/oauth-authorization-server`);

  assert.equal(ready.status, 200);
  assert.equal((await metadata.json()).issuer, 'https://api.example.com');
  assert.match(ready.headers.get('strict-transport-security') ?? '', /max-age=63072000/);
  assert.equal(statSync(join(workspace.folder, 'gatehouse.key')).mode & 0o777, 0o600);
  program.stop();
});

test('the package that the guide installs has the version of this checkout', () => {
  const text = guide.take('Install the package', 'sh');

  assert.match(text, new RegExp(`^npm install \\./gatehouse-${version}\\.tgz `, 'm'));
});

test('README and the guide put keys into a file, never into a variable', () => {
  for (const page of ['README.md', 'docs/guides/run-in-production.md']) {
    assert.doesNotMatch(readText(page), /(?:export|--env|-e) SECRET_KEYS=/, page);
  }
  assert.match(readText('docs/guides/run-in-production.md'), /^export SECRET_KEYS_FILE=/m);
});

test('the guide creates an owner who is a platform admin', async () => {
  const password = join(workspace.folder, 'password');
  writeFileSync(password, 'a quiet guide password\n');
  const text = `${guide.take('Add the first administrator', 'sh').trim()} < ${password}\ngatehouse user list --json`;

  const env = { DATABASE_URL: `sqlite:${join(workspace.folder, 'first.db')}` };
  const printed = await workspace.bash(`gatehouse migrate\n${text}`, { cwd: workspace.checkout, env }).waitForExit();

  assert.match(printed, /"email":"you@example\.com".*"isPlatformAdmin":true/);
});

test('the settings of the guide switch mail on', () => {
  const exports = guide.take('Mail', 'sh').matchAll(/^export (\w+)='([^']+)'$/gm);
  const env = Object.fromEntries([...exports].map(([, name = '', value = '']) => [name, value]));

  const { smtp } = readSettings({ ...env, SECRET_KEYS: newSecret() });

  assert.deepEqual(smtp?.from, { name: 'Acme', address: 'no-reply@example.com' });
});

test('the database URL of the guide is valid for a pooler', () => {
  const [, url = ''] = /^export DATABASE_URL='([^']+)'$/m.exec(guide.take('Poolers', 'sh')) ?? [];

  const { pooler, namesStatements } = readPostgresUrl(url);

  assert.deepEqual({ pooler, namesStatements }, { pooler: 'transaction', namesStatements: false });
});

test('the container of the guide has settings that exist, the ports of the image and its user', async () => {
  const { script } = createDeployment();
  const image = readImage();

  const printed = await workspace.bash(script(guide.take('Run a container with Docker', 'sh'))).waitForExit();

  const variables = optionsIn(printed, 'env').map((pair) => pair.split('=')[0] ?? '');
  assert.ok(variables.length >= 4 && variables.every((name) => SETTINGS.includes(name)), variables.join(' '));
  assert.deepEqual(
    optionsIn(printed, 'publish').map((published) => published.split(':').at(-1)),
    image.find('EXPOSE').join(' ').split(' '),
  );
  assert.match(printed, new RegExp(`^chown ${image.user.split(':')[0]} `, 'm'));
  assert.match(printed, new RegExp(`^docker run .* gatehouse:${version}$`, 'm'));
  assert.match(printed, new RegExp(`^docker exec -it gatehouse ${image.entrypoint.join(' ')} doctor$`, 'm'));
});

test('the guide creates every secret and names every variable of the Compose file', async () => {
  const { folder, script } = createDeployment();
  const text = guide.take('Run several containers with Docker Compose', 'sh');

  const printed = await workspace.bash(script(text)).waitForExit();

  const variables = /^export (.*)$/m
    .exec(text)?.[1]
    ?.split(' ')
    .map((pair) => pair.split('='));
  const compose = readCompose(Object.fromEntries(variables ?? []));
  const files = Object.values(compose.secrets).map(({ file }) => join(folder, 'deploy', file));
  assert.equal(files.length, 3);
  for (const file of files) assert.equal(statSync(file).mode & 0o777, 0o600, file);
  const SECRET_KEYS_FILE = join(folder, 'deploy', compose.secrets.secret_keys?.file ?? '');
  const DATABASE_URL_FILE = join(folder, 'deploy', compose.secrets.database_url?.file ?? '');
  const settings = readSettings({ ...compose.services.node1?.environment, SECRET_KEYS_FILE, DATABASE_URL_FILE });
  assert.match(settings.databaseUrl, /^postgres:\/\/gatehouse:[0-9a-f]{48}@postgres\/gatehouse$/);
  assert.match(printed, new RegExp(`^docker build --tag ${compose.services.node1?.image} \\.$`, 'm'));
  assert.match(printed, /^docker compose up --detach$/m);
});

test('the guide sets values of the chart, and creates the Secret that it mounts', async () => {
  const { script } = createDeployment();
  const values = parse(readText('deploy/helm/gatehouse/values.yaml'));

  const printed = await workspace.bash(script(guide.take('Install the Helm chart on Kubernetes', 'sh'))).waitForExit();

  const paths = optionsIn(printed, 'set').map((pair) => pair.split('=')[0] ?? '');
  assert.ok(paths.length >= 4);
  for (const path of paths) {
    assert.notEqual(
      path.split('.').reduce((value, key) => value?.[key], values),
      undefined,
      path,
    );
  }
  const keys = [...optionsIn(printed, 'from-file'), ...optionsIn(printed, 'from-literal')];
  assert.deepEqual(
    keys.map((pair) => pair.split('=')[0]),
    ['SECRET_KEYS', 'DATABASE_URL'],
  );
});

test('the guide writes the files that the unit reads', async () => {
  const { folder, script } = createDeployment();
  const unit = readText('deploy/systemd/gatehouse.service');

  const printed = await workspace.bash(script(guide.take('Run the package with systemd', 'sh'))).waitForExit();

  const read = [...unit.matchAll(/(?<=^LoadCredential=[\w-]+:|^EnvironmentFile=)\/\S+/gm)];
  assert.equal(read.length, 3);
  for (const [file] of read) assert.ok(statSync(join(folder, file)).isFile(), file);
  const lines = readFileSync(join(folder, 'etc/gatehouse/settings'), 'utf8').trim().split('\n');
  const settings = readSettings({
    ...Object.fromEntries(lines.map((line) => line.split('='))),
    SECRET_KEYS_FILE: join(folder, 'etc/gatehouse/keys'),
    DATABASE_URL_FILE: join(folder, 'etc/gatehouse/database-url'),
  });
  assert.equal(settings.databaseUrl, 'sqlite:/var/lib/gatehouse/gatehouse.db');
  assert.match(unit, /^ExecStart=\/opt\/gatehouse\/bin\/gatehouse serve$/m);
  assert.match(
    printed,
    new RegExp(`^npm install --global --prefix ${folder}/opt/gatehouse ./gatehouse-${version}.tgz$`, 'm'),
  );
  assert.match(printed, /^systemctl enable --now gatehouse$/m);
});

const PROGRAM = readImage().entrypoint.join(' ');
const COMMANDS = {
  'Run a container with Docker': `docker exec -it gatehouse ${PROGRAM}`,
  'Run several containers with Docker Compose': `docker compose exec node1 ${PROGRAM}`,
  'Install the Helm chart on Kubernetes': `kubectl exec -it deploy/gatehouse -- ${PROGRAM}`,
  'Run the package with systemd': 'gatehouse-command',
};

for (const [section, command] of Object.entries(COMMANDS)) {
  test(`after the commands of “${section}”, those of the first administrator reach the installation`, async () => {
    const { script } = createDeployment();
    const first = guide.take('Add the first administrator', 'sh');

    const text = `${script(guide.take(section, 'sh'))}\n${first}`;
    const printed = await workspace.bash(text).waitForExit();

    assert.match(first, /business add .*\n.*user add .* --platform-admin/);
    assert.match(printed, new RegExp(`^${command} user add --email you@example\\.com .* --platform-admin$`, 'm'));
    assert.match(printed, new RegExp(`^${command} doctor$`, 'm'));
  });
}

test('with the settings for Patroni, only writes that a standby has are acknowledged', () => {
  const { synchronous_mode, synchronous_mode_strict, ttl, loop_wait, retry_timeout } = parse(
    guide.take('Failover', 'yaml'),
  );

  assert.deepEqual([synchronous_mode, synchronous_mode_strict], [true, true]);
  // Otherwise Patroni replaces them with its own.
  assert.ok(ttl >= 20 && loop_wait + 2 * retry_timeout <= ttl);
});
