import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { createCommandLine } from '../support/command-line.ts';
import { readImage, readText, SETTINGS, SHUTDOWN, unknownVariables, version } from './files.ts';

const CHART = 'deploy/helm/gatehouse';
const values: Record<string, number> = parse(readText(`${CHART}/values.yaml`));
const schema = JSON.parse(readText(`${CHART}/values.schema.json`));
const folder = fileURLToPath(new URL(`../../${CHART}/templates`, import.meta.url));
const templates = globSync('*', { cwd: folder }).map((file) => readText(`${CHART}/templates/${file}`));
const deployment = readText(`${CHART}/templates/deployment.yaml`);
const image = readImage();

/** The settings that the chart itself sets or reads from its Secret, and one that a public server rejects. */
const OWN = [...deployment.matchAll(/- name: ([A-Z_]+)\n/g)].map(([, name = '']) => name);
const SECRET = ['SECRET_KEYS', 'DATABASE_URL', 'SMTP_URL'];
const FOR_DEVELOPMENT = ['WEBHOOKS_TO_LOOPBACK'];

test('the chart installs this version', () => {
  const chart = parse(readText(`${CHART}/Chart.yaml`));

  assert.equal(chart.appVersion, version);
});

test('its values and those of its checks match the schema, and an unknown value is rejected', () => {
  const isValid: ((value: unknown) => boolean) & { errors?: unknown } = new Ajv({ allowUnionTypes: true }).compile(
    schema,
  );
  const files = globSync('../ci/*.yaml', { cwd: folder });

  assert.equal(files.length, 2);
  assert.ok(isValid(values), JSON.stringify(isValid.errors));
  for (const file of files) assert.ok(isValid(parse(readText(`${CHART}/templates/${file}`))), file);
  assert.deepEqual(Object.keys(schema.properties).sort(), ['global', ...Object.keys(values)].sort());
  assert.equal(isValid({ replica: 3 }), false);
  assert.equal(isValid({ settings: { LIMIT_PER_APP: 5000 } }), false);
});

test('every setting has a value of its own, is in the Secret, or can be set under settings', () => {
  const rest = SETTINGS.filter((name) => ![...OWN, ...SECRET, ...FOR_DEVELOPMENT].includes(name));

  assert.ok(OWN.length >= 9);
  assert.deepEqual(unknownVariables(OWN), []);
  assert.deepEqual(schema.properties.settings.propertyNames.enum.toSorted(), [...rest, 'NODE_EXTRA_CA_CERTS'].sort());
});

test('the commands of the chart exist, and its paths are those of the image', async () => {
  const commands = templates.flatMap((text) => [...text.matchAll(/args: \[(\w+)\]/g)].map(([, name = '']) => name));
  const [, program = ''] = image.entrypoint;

  assert.deepEqual(commands.sort(), ['migrate', 'serve']);
  for (const command of [...commands, 'doctor']) {
    const { status } = await createCommandLine().run([command, '--help'], { asProcess: false });
    assert.equal(status, 0, command);
  }
  assert.match(readText(`${CHART}/templates/NOTES.txt`), new RegExp(`-- node ${program} doctor`));
});

test('the ports of the pods are those of the image, and each probe requests the path of its purpose', () => {
  for (const name of ['LISTEN', 'CONSENT_LISTEN']) {
    const [, address = ''] = new RegExp(`- name: ${name}\\n\\s+value: (\\S+)`).exec(deployment) ?? [];
    assert.equal(address, image.env[name]);
    assert.match(deployment, new RegExp(`containerPort: ${address.split(':')[1]} `));
  }
  assert.match(deployment, /startupProbe:\n\s+httpGet: \{ path: \/healthz, port: api \}/);
  assert.match(deployment, /livenessProbe:\n\s+httpGet: \{ path: \/healthz, port: api \}/);
  assert.match(deployment, /readinessProbe:\n\s+httpGet: \{ path: \/healthz, port: api \}/);
});

test('pods run as the user of the image, and have time to shut down', () => {
  const helpers = readText(`${CHART}/templates/_helpers.tpl`);

  assert.match(helpers, new RegExp(`runAsUser: ${image.user.split(':')[0]}\n`));
  assert.ok(Number(values.terminationGracePeriodSeconds) > Number(values.preStopSeconds) + SHUTDOWN);
});
