import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { parseAllDocuments } from 'yaml';
import { downloadModule, findTool, ROOT, run } from './tools.ts';

const CHART = join(ROOT, 'deploy/helm/gatehouse');
const LEAST = ['--values', join(CHART, 'ci/least.yaml')];
const VALUES = [LEAST, ['--values', join(CHART, 'ci/all.yaml')]];

/** The oldest version that the chart accepts, and the newest whose schemas are known. */
const KUBERNETES = ['1.30', '1.37'];

/** Defines ServiceMonitor. */
const OPERATOR = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';

const REJECTED = [
  ['--set', 'baseUrl=http://api.example.com'],
  ['--set', 'settings.NO_SUCH_SETTING=1'],
  ['--set', 'settings.SECRET_KEYS=in-plain-sight'],
  ['--set', 'replica=3'],
  ['--set', 'existingSecret='],
  ['--set', 'terminationGracePeriodSeconds=5'],
];

// biome-ignore lint/suspicious/noExplicitAny: the schemas say what is in a manifest.
type Manifest = any;

export async function checkHelm(): Promise<string> {
  const helm = await findTool('helm');
  const validator = await findTool('kubernetes-validate');
  let count = 0;
  for (const values of VALUES) {
    await run(helm, ['lint', '--strict', '--quiet', CHART, ...values]);
    for (const version of KUBERNETES) {
      const text = await run(helm, ['template', 'gatehouse', CHART, '--kube-version', version, ...values]);
      const manifests = parseAllDocuments(text).map((document) => document.toJS());
      await validate(validator, version, manifests);
      for (const manifest of manifests) checkPod(manifest);
      count += manifests.length;
    }
  }
  for (const bad of REJECTED) {
    await assert.rejects(run(helm, ['template', 'gatehouse', CHART, ...LEAST, ...bad]), bad.join(' '));
  }
  return `helm lint has no findings; ${count} manifests are valid for Kubernetes ${KUBERNETES.join(' and ')}; ${REJECTED.length} bad values are rejected`;
}

async function validate(validator: string, version: string, manifests: Manifest[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-helm-'));
  const [custom, known] = [manifests.filter(isCustom), manifests.filter((manifest) => !isCustom(manifest))];
  const files = known.map((manifest, i) => join(folder, `${i}-${manifest.kind}.json`));
  for (const [i, file] of files.entries()) writeFileSync(file, JSON.stringify(known[i]));
  try {
    await run(validator, ['--strict', '--kubernetes-version', version, ...files]);
  } finally {
    rmSync(folder, { recursive: true });
  }
  for (const manifest of custom) await validateCustom(manifest);
}

function isCustom({ kind }: Manifest): boolean {
  return kind === 'ServiceMonitor';
}

async function validateCustom(manifest: Manifest): Promise<void> {
  const file = join(await downloadModule(OPERATOR), 'jsonnet/prometheus-operator/servicemonitors-crd.json');
  const { openAPIV3Schema } = JSON.parse(readFileSync(file, 'utf8')).spec.versions[0].schema;
  const { metadata: _, ...properties } = openAPIV3Schema.properties;
  const isValid = new Ajv({ strict: false, validateFormats: false }).compile(
    closed({ ...openAPIV3Schema, properties: { ...properties, metadata: {} } }),
  );
  assert.ok(isValid(manifest), JSON.stringify(isValid.errors));
}

/** Rejects fields that the schema does not name, which a cluster would drop. */
function closed(schema: Manifest): Manifest {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const entries = Object.entries(schema).map(([key, value]) => [key, closed(value)]);
  const isObject = schema.type === 'object' && schema.properties;
  return { ...Object.fromEntries(entries), ...(isObject && { additionalProperties: false }) };
}

/** The restricted Pod Security Standard, with a read-only file system and without a token of the API server. */
function checkPod({ kind, spec }: Manifest): void {
  if (!['Deployment', 'Job'].includes(kind)) return;
  const pod = spec.template.spec;
  assert.equal(pod.automountServiceAccountToken, false);
  assert.equal(pod.securityContext.runAsNonRoot, true);
  assert.deepEqual(pod.securityContext.seccompProfile, { type: 'RuntimeDefault' });
  for (const { securityContext } of pod.containers) {
    assert.deepEqual(securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  }
}
