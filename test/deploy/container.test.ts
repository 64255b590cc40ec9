import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { createCommandLine } from '../support/command-line.ts';
import { freePort } from '../support/ports.ts';
import {
  isIgnored,
  optionalDependencies,
  readImage,
  readStages,
  readText,
  unknownVariables,
  version,
} from './files.ts';

const image = readImage();
const program = '/gatehouse/gatehouse.js';

test('the image is built and runs on the pinned Node, and names its version', () => {
  const [node] = Object.values<string>(optionalDependencies);
  const bases = readStages().map(([from]) => from?.text.split(' ')[0]);

  assert.deepEqual(bases, [`node:${node}-slim`, `node:${node}-slim`, 'scratch']);
  assert.ok(image.find('ARG').includes(`VERSION=${version}`));
  assert.match(image.find('LABEL').join(), /org\.opencontainers\.image\.version="\$\{VERSION\}"/);
});

test('the container runs as a user without rights, without a shell, and stops on SIGTERM', () => {
  const [uid = '', gid = ''] = image.user.split(':');

  assert.ok(Number(uid) > 10_000 && uid === gid, image.user);
  assert.match(readText('deploy/container/collect.sh'), new RegExp(`chown ${image.user} "\\$root/data"`));
  assert.deepEqual(image.find('STOPSIGNAL'), ['SIGTERM']);
  assert.deepEqual(image.find('RUN'), []);
  assert.deepEqual([image.entrypoint, image.command], [['node', program], ['serve']]);
});

test('the image contains the package as it is built, with its licences and its SBOM', () => {
  assert.deepEqual(image.find('COPY'), ['--from=root /image /', '--from=build /gatehouse/dist /gatehouse']);
});

test('every variable of the image is a setting, and its ports are exposed', () => {
  const { LISTEN, CONSENT_LISTEN } = image.env;

  assert.deepEqual(unknownVariables(Object.keys(image.env)), []);
  assert.deepEqual(
    image.find('EXPOSE').join(' ').split(' '),
    [LISTEN, CONSENT_LISTEN].map((address) => address?.split(':')[1]),
  );
});

test('the health check of the image succeeds while the server runs, and fails when it does not', async () => {
  const cli = createCommandLine();
  const [node, script, ...args] = image.healthCheck;
  const ports = { LISTEN: `0.0.0.0:${await freePort()}`, CONSENT_LISTEN: `0.0.0.0:${await freePort()}` };
  const env = { ...ports, BASE_URL: 'https://api.example.com', CONSENT_URL: 'https://accounts.example.com' };
  assert.deepEqual([node, script], ['node', program]);

  const before = await cli.run(args, { env, asProcess: true });
  const server = await cli.serve({ ...env, SECRET_KEYS: 'a-key-that-only-the-test-of-the-image-uses' });
  const meanwhile = await cli.run(args, { env, asProcess: true });
  const exitCode = await server.end('SIGTERM');

  assert.deepEqual([before.status, meanwhile.status, exitCode], [1, 0, 0]);
});

test('the build context has every file that the build copies or reads, and no secrets or other files', () => {
  const copied = readStages()
    .flat()
    .filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from'))
    .flatMap(({ text }) => text.split(' ').slice(0, -1))
    .filter((path) => path !== '.');
  const built = globSync(
    ['scripts/build{.ts,/*.ts}', 'src/**/*.{ts,js,css}', 'demo/*.ts', 'docs/guides/*.md', 'LICENSE'],
    {
      cwd: new URL('../../', import.meta.url),
    },
  );

  assert.ok(copied.length >= 5 && built.length > 300);
  assert.deepEqual([...copied, ...built].filter(isIgnored), []);
  for (const path of ['.git/config', 'data/secret-key', 'deploy/secrets/secret_keys', 'gatehouse.key', 'sdk/x/.env']) {
    assert.ok(isIgnored(path), path);
  }
  for (const path of ['node_modules/pg/index.js', 'sdk/guard/node_modules/x.js', 'test/config.test.ts', 'dist/x.js']) {
    assert.ok(isIgnored(path), path);
  }
});
