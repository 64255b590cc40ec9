import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createWorkspace, openGuide } from '../support/guides.ts';
import { freePort } from '../support/ports.ts';

const guide = openGuide('test-your-integration');
const workspace = createWorkspace();

/** Between the blocks, this acts as the reader's app: it sends the user to the authorize URL, and exchanges the code. */
const OWN_APP = `
CLIENT_ID=$(sed -E 's/.*"client_id": ?"([^"]+)".*/\\1/' "$DATA/app.json")
CLIENT_SECRET=$(sed -E 's/.*"client_secret": ?"([^"]+)".*/\\1/' "$DATA/app.json")
echo "Own app at $BASE_URL with $CLIENT_ID"
read -r CALLBACK
CODE=$(printf %s "$CALLBACK" | sed -E 's/.*[?&]code=([^&]+).*/\\1/')
ACCESS_TOKEN=$(curl -sS "$BASE_URL/api/v1/oauth/token" -d grant_type=authorization_code -d "code=$CODE" \\
  -d redirect_uri=http://127.0.0.1:8080/callback -d "client_id=$CLIENT_ID" -d "client_secret=$CLIENT_SECRET" |
  sed -E 's/.*"access_token":"([^"]+)".*/\\1/')
`;

test('a server is started, seeded, tested through the consent screen, made to fail and stopped as in the guide', async () => {
  const script = [
    guide.take('Start one', 'sh'),
    guide.take('Fill it', 'sh'),
    OWN_APP,
    guide.take('What to try', 'sh'),
    guide.take('Stop it', 'sh'),
  ];
  const program = workspace.bash(script.join('\n'), {
    cwd: workspace.checkout,
    env: { PORT: String(await freePort()) },
  });

  const own = (await program.waitForOutput(/^Own app at (.+)$/m)).split(' with ');
  program.writeLine(await clickThrough(own[0] ?? '', own[1] ?? ''));
  const printed = await program.waitForExit();

  assert.match(printed, /"error":"invalid_token".*"reason":"app_disabled"/);
});

/** Uses Playwright, like the guide. */
async function clickThrough(baseUrl: string, clientId: string): Promise<string> {
  workspace.linkPackage('playwright-core');
  workspace.save('click.ts', guide.take('Click through it', 'ts'));
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: 'http://127.0.0.1:8080/callback',
    scope: 'read:invoices',
    state: 'one',
  });
  const env = { URL: `${baseUrl}/api/v1/oauth/authorize?${query}`, CHROMIUM: await unpackChromium() };
  return (await workspace.run([process.execPath, 'click.ts'], { env }).waitForExit()).trim();
}

async function unpackChromium(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-chromium-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  process.env.TMPDIR = folder;
  const { default: packed } = await import('@sparticuz/chromium');
  return packed.executablePath();
}
