import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../support/guides.ts';
import { startTestServer } from '../support/test-server.ts';

const guide = readFileSync(join(ROOT, 'docs/guides/connect-apps-for-the-business.md'), 'utf8');

test('every label that the guide names is on the pages, in the words of the guide', async () => {
  const server = await startTestServer();
  const owner = await server.signedIn();
  const ann = await server.addUser('Ann', [[server.acme, 'admin']]);
  const admin = await server.signedIn(ann);
  const consent = await admin.open(server.authorizeUrl());
  const screen = await owner.open(server.authorizeUrl());
  for (const [browser, page] of [[admin, consent] as const, [owner, screen] as const]) {
    await browser.submit(page, '/consent', { decision: 'allow', connected_for: 'business' });
  }
  const connections = [ann, server.ada].map(({ id }) => server.acmePath(`connected-apps/${server.ledger.id}/${id}`));
  const paths = [...connections, `/settings/members/${ann.id}/remove`];
  const opened = await Promise.all(paths.map((path) => owner.open(path)));

  const pages = [consent, ...opened].map(({ text }) => text).join('');

  const labels = [...guide.matchAll(/\*\*([^*]+)\*\*/g)].map(([, label = '']) => label);
  assert.ok(labels.includes('Take over…') && labels.includes('Hand over…'));
  assert.deepEqual(
    labels.filter((label) => !pages.includes(label)),
    [],
  );
});
