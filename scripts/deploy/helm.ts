import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { findTool, ROOT, run } from './tools.ts';

const CHART = join(ROOT, 'deploy/helm/gatehouse');
const LEAST = ['--values', join(CHART, 'ci/least.yaml')];
const VALUES = [LEAST, ['--values', join(CHART, 'ci/all.yaml')]];

/** The oldest version that the chart accepts, and the newest whose schemas are known. */
const KUBERNETES = ['1.30', '1.37'];

/** Not a kind of Kubernetes itself. */
const CUSTOM = ['ServiceMonitor'];

const REJECTED = [
  ['--set', 'baseUrl=http://api.example.com'],
  ['--set', 'settings.NO_SUCH_SETTING=1'],
  ['--set', 'settings.SECRET_KEYS=in-plain-sight'],
  ['--set', 'replica=3'],
  ['--set', 'existingSecret='],
  ['--set', 'terminationGracePeriodSeconds=5'],
];

export async function checkHelm(): Promise<string> {
  const helm = await findTool('helm');
  const validator = await findTool('kubernetes-validate');
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-helm-'));
  let validated = 0;
  try {
    for (const values of VALUES) {
      await run(helm, ['lint', '--strict', '--quiet', CHART, ...values]);
      for (const version of KUBERNETES) {
        const text = await run(helm, ['template', 'gatehouse', CHART, '--kube-version', version, ...values]);
        validated += await validate(validator, version, folder, text);
      }
    }
    for (const bad of REJECTED) {
      await assert.rejects(run(helm, ['template', 'gatehouse', CHART, ...LEAST, ...bad]), bad.join(' '));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return `${validated} manifests are valid for Kubernetes ${KUBERNETES.join(' and ')}; ${REJECTED.length} bad values are rejected`;
}

async function validate(validator: string, version: string, folder: string, text: string): Promise<number> {
  const documents = parseAllDocuments(text).map((document) => document.toJS());
  const known = documents.filter((manifest) => manifest && !CUSTOM.includes(manifest.kind));
  const files = known.map((manifest, i) => {
    const file = join(folder, `${i}-${manifest.kind}.json`);
    writeFileSync(file, JSON.stringify(manifest));
    return file;
  });
  await run(validator, ['--strict', '--kubernetes-version', version, ...files]);
  return files.length;
}
