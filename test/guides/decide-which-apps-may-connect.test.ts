import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { APP_RULES, blockApp, requestApproval, setAppPolicy } from '../support/app-rules.ts';
import { ROOT } from '../support/guides.ts';
import { startTestServer } from '../support/test-server.ts';

const guide = readFileSync(join(ROOT, 'docs/guides/decide-which-apps-may-connect.md'), 'utf8');

test('every label that the guide names is on the pages, in the words of the guide', async () => {
  const server = await startTestServer();
  const owner = await server.signedIn();
  await server.connect();
  const mia = await server.addUser('Mia', [[server.acme, 'member']]);
  const member = await server.signedIn(mia);
  await setAppPolicy(owner, 'approved');
  await requestApproval(server, member);
  const other = await server.addApp({ name: 'Other', ownerBusinessId: server.acme.id });
  await blockApp(owner, other);
  const connection = server.acmePath(`connected-apps/${server.ledger.id}/${server.ada.id}`);
  const paths = ['/settings/business', APP_RULES, connection];
  const pages = (await Promise.all(paths.map((path) => owner.open(path)))).map(({ text }) => text).join('');
  const approving = `${APP_RULES}/${server.ledger.id}/requests/${mia.id}`;
  const approved = await owner.submit(await owner.open(APP_RULES), approving, { decision: 'approve_all' });
  const rules = [...guide.matchAll(/^\| ((?:Every|Members|Only)[^|]*) \|/gm)].map(([, rule = '']) => rule);

  assert.equal(rules.length, 3);
  const labels = [...guide.matchAll(/\*\*([^*]+)\*\*/g)].map(([, label = '']) => label);
  const missing = [...labels, ...rules].filter((label) => !pages.includes(label) && !approved.text.includes(label));
  assert.deepEqual(missing, []);
});
