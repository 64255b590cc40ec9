import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { markUserDisabled } from '../../src/accounts/users.ts';
import { watchStatements } from '../../src/storage/statement-log.ts';
import { startTestServer } from '../support/test-server.ts';

const FAILURES = 101;

let statements: string[] = [];
after(watchStatements(({ sql }) => statements.push(sql)));

const server = await startTestServer({
  LIMIT_SIGN_IN_PER_ACCOUNT: '1000',
  LIMIT_SIGN_IN_PER_ADDRESS: '1000',
  TRUST_PROXY: '127.0.0.1/32',
});

/** The statements about accounts and the audit log. Meanwhile jobs run others, among them the clean-up of these tables. */
const isOfSignIn = (sql: string) =>
  /"(?:users|memberships|audit_\w+|notices)"/.test(sql) && !/^delete|from "(?:audit_entries|notices|grants)"/.test(sql);

/** What each of many wrong passwords within an hour runs, from a network of its own. */
async function recordFailures(email: string, address: string): Promise<string[][]> {
  const recorded: string[][] = [];
  const browser = server.browse({ 'x-forwarded-for': address });
  const form = await browser.open('/sign-in');
  for (let nth = 0; nth < FAILURES; nth++) {
    statements = [];
    const failed = await browser.submit(form, '/sign-in', { email, password: 'not the password' });
    assert.equal(failed.status, 401);
    recorded.push(statements.filter(isOfSignIn));
  }
  return recorded;
}

test('each of 101 failed sign-ins runs the same statements for an account, a disabled one and a stranger [S5]', async () => {
  const bolt = await server.addBusiness('Bolt');
  const both = await server.addUser('Both', [
    [server.acme, 'owner'],
    [bolt, 'member'],
  ]);
  const gone = await server.addUser('Gone', [[server.acme, 'member']]);
  await markUserDisabled(server.storage().durable, gone.id, server.clock());

  const ofStranger = await recordFailures('nobody@example.com', '203.0.113.1');
  const ofAccount = await recordFailures(both.email, '203.0.113.2');
  const ofDisabled = await recordFailures(gone.email, '203.0.113.3');

  assert.ok((ofStranger[0] ?? []).length >= 4, String(ofStranger[0]));
  assert.deepEqual(ofAccount, ofStranger);
  assert.deepEqual(ofDisabled, ofStranger);
});

test('the failures that it records are the first, the tenth and the hundredth, for the user and each business', async () => {
  const failures = await server
    .storage()
    .durable.selectFrom('audit_entries')
    .select(['action', 'detail'])
    .where('subject_name', '=', 'Both')
    .where('action', 'in', ['session.failed', 'session.member_failed'])
    .execute();

  const times = failures.map(({ action, detail }) => `${action} ${JSON.parse(detail).attempts_within_an_hour ?? 1}`);
  const expected = ['1', '10', '100'].flatMap((nth) => [
    `session.failed ${nth}`,
    `session.member_failed ${nth}`,
    `session.member_failed ${nth}`,
  ]);
  assert.deepEqual(times.toSorted(), expected.toSorted());
});
