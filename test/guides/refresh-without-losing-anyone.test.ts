import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { NO_PYTHON } from '../sdk/python/interpreter.ts';
import { createWorkspace, openGuide } from '../support/guides.ts';
import { startTestServer } from '../support/test-server.ts';

const guide = openGuide('refresh-without-losing-anyone');
const server = await startTestServer();
const workspace = createWorkspace();
const { client_id, client_secret } = server.credentials;
const env = { BASE_URL: server.api, CLIENT_ID: client_id, CLIENT_SECRET: client_secret, GATEHOUSE: workspace.checkout };
const browser = await server.signedIn();

before(async () => {
  await workspace
    .bash('npm pack --silent "$GATEHOUSE/sdk/typescript" && npm install --silent ./*.tgz', { env })
    .waitForExit();
});

const typescript = guide.take('In TypeScript', 'ts');
const python = guide.take('In Python', 'python');

test('the TypeScript of the guide refreshes, stores the pair before it uses it, and prints why the grant ended', async () => {
  workspace.save('refresh.ts', typescript);
  const tokens = await server.connect({}, browser);
  const file = 'typescript.json';
  const stored = { accessToken: tokens.access_token, refreshToken: tokens.refresh_token, expiresAt: 0, scopes: [] };
  workspace.save(file, JSON.stringify(stored));

  await assertRefreshes(['node', 'refresh.ts'], file, ({ refreshToken }) => refreshToken);
});

test('the Python of the guide does the same', { skip: NO_PYTHON }, async () => {
  workspace.save('refresh.py', python);
  const tokens = await server.connect({}, browser);
  const file = 'python.json';
  const stored = {
    access_token: tokens.access_token,
    refresh_token: tokens.refresh_token,
    expires_at: 0,
    scopes: ['x'],
  };
  workspace.save(file, JSON.stringify(stored));

  await assertRefreshes(['python3', 'refresh.py'], file, ({ refresh_token }) => refresh_token);
});

async function assertRefreshes(
  [name = '', program = '']: string[],
  file: string,
  refreshTokenOf: (stored: Record<string, string>) => string | undefined,
) {
  const command = [name === 'node' ? process.execPath : name, program];
  const programEnv = { ...env, TOKENS: file, PYTHONPATH: join(workspace.checkout, 'sdk/python/src') };
  const kept = () => refreshTokenOf(JSON.parse(readFileSync(join(workspace.folder, file), 'utf8'))) ?? '';
  const first = kept();

  const refreshed = await workspace.run(command, { env: programEnv }).waitForExit();
  const second = kept();
  await server.revoke(second);
  server.advanceClock(3_600_000);
  const ended = await workspace.run(command, { env: programEnv }).waitForExit();

  assert.match(refreshed, /^Connected to Acme\.$/m);
  assert.equal(statSync(join(workspace.folder, file)).mode & 0o777, 0o600);
  assert.notEqual(second, first);
  assert.match(ended, /^Connect again: revoked_by_app\.$/m);
}
