import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { watchStatements } from '../../src/storage/statement-log.ts';
import { inviteInBrowser } from '../support/invitations.ts';
import { startMailServer } from '../support/mail-server.ts';
import { startTestServer } from '../support/test-server.ts';

let statements: string[] = [];
after(watchStatements(({ sql }) => statements.push(sql)));

const smtp = await startMailServer();
const server = await startTestServer({ ...smtp.env });

/** What it runs about accounts. Of the businesses of the owner who invites, every invitation reads the same. */
const isOfAccounts = (sql: string) => /"(?:users|memberships|invitations)"/.test(sql) && !sql.startsWith('delete');

/** The statements of an invitation, until its mail has arrived. */
async function invite(email: string): Promise<string[]> {
  const owner = await server.signedIn();
  statements = [];
  await inviteInBrowser(owner, { email });
  await smtp.waitForMailTo(email, 0);
  return statements.filter(isOfAccounts);
}

test('an invitation runs the same statements for an account and a stranger [E6]', async () => {
  const bolt = await server.addBusiness('Bolt');
  const { email } = await server.addUser('Both', [[bolt, 'member']]);

  const ofStranger = await invite('nobody@example.com');
  const ofAccount = await invite(email);

  assert.ok(ofStranger.length >= 4, String(ofStranger));
  assert.deepEqual(ofAccount, ofStranger);
});
