import { once } from 'node:events';
import { createServer } from 'node:net';
import type { DemoApp } from '../../demo/app.ts';
import {
  DEMO_PASSWORD,
  DEMO_USERS,
  type DemoCredentials,
  ensureDemoApps,
  ensureDemoData,
  ensureDemoEndpoint,
} from '../../demo/data.ts';
import { readConsentListen, readListen, type Settings } from '../config/settings.ts';
import type { Environment } from '../config/values.ts';
import { cannotListen } from '../http/lifecycle.ts';
import { systemClock } from '../lib/clock.ts';
import { InvalidSetting } from '../lib/errors.ts';
import type { Address } from '../lib/ip-addresses.ts';
import { createKeyring } from '../lib/keyring.ts';
import { confirmReading } from '../storage/plausible-clock.ts';
import type { Storage } from '../storage/storage.ts';
import type { Command } from './command.ts';
import { readServerSettings } from './first-key.ts';
import { exitSoon, untilStopped } from './serve.ts';

const CREDENTIALS = 'data/demo-apps.json';

/** Assistants on this machine can connect, even without a metadata document. */
const DEFAULTS = {
  LOG_LEVEL: 'warn',
  WEBHOOKS_TO_LOOPBACK: 'yes',
  DYNAMIC_REGISTRATION: 'on',
  PRIVATE_REDIRECT_SCHEMES: 'cursor,vscode,vscode-insiders',
};

export const demoCommand: Command = {
  name: 'demo',
  summary: 'Serve both hosts with sample data and two demo apps to click through',
  hasNoResult: true,
  options: {},
  examples: ['BASE_URL=http://127.0.0.1:5000 CONSENT_URL=http://localhost:5001 gatehouse demo'],
  async run(_, env) {
    const given = { ...DEFAULTS, ...env };
    await rejectTakenPorts(given);
    const settings = await readServerSettings(given);
    if (settings.baseUrl.startsWith('https:')) {
      throw new InvalidSetting('BASE_URL is public, and the demo is only for your own machine. Use: gatehouse serve');
    }
    const stopped = untilStopped();
    const { startServer } = await import('../server.ts');
    const { createMailbox, startMailboxPage } = await import('../../demo/mailbox.ts');
    const mailbox = settings.smtp ? undefined : createMailbox();
    const server = await startServer(settings, systemClock, { mailTransport: mailbox?.transport });
    const apps: { close(): Promise<void> }[] = [];
    // The demo may have been stopped for days: that is not a jump of the clock.
    await confirmReading(server.storage.durable, systemClock());
    try {
      const { thirdParty, firstParty } = await prepareApps(server.storage, settings);
      for (const app of [thirdParty, firstParty]) apps.push(await startOn(app.port, () => startApp(app)));
      const mailPort = firstParty.port + 1;
      if (mailbox) apps.push(await startOn(mailPort, () => startMailboxPage(mailbox, mailPort)));
      console.log(welcomeMessage(settings, { third: thirdParty.port, first: firstParty.port, mail: mailPort }));
      await Promise.race([stopped, server.outdated]);
    } finally {
      await Promise.all(apps.map((app) => app.close()));
      await server.close();
      exitSoon();
    }
    return undefined;
  },
};

/** Before anything is created, so that a demo that cannot start leaves no data behind. */
async function rejectTakenPorts(env: Environment): Promise<void> {
  const web = readConsentListen(env);
  await tryPort(readListen(env), 'BASE_URL or LISTEN');
  await tryPort(web, 'CONSENT_URL or CONSENT_LISTEN');
  for (const port of [1, 2, 3].map((n) => web.port + n)) {
    await startOn(port, () => listenOnce({ host: '127.0.0.1', port }));
  }
}

async function tryPort(address: Address, setting: string): Promise<void> {
  try {
    await listenOnce(address);
  } catch (error) {
    throw cannotListen(address, error, setting);
  }
}

async function listenOnce({ host, port }: Address): Promise<void> {
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  await once(server.close(), 'close');
}

async function prepareApps(storage: Storage, settings: Settings) {
  const businessId = await ensureDemoData(storage, systemClock());
  const credentials = await ensureDemoApps(storage, businessId, CREDENTIALS, systemClock());
  const { thirdParty, firstParty } = demoApps(settings);
  const url = `http://127.0.0.1:${thirdParty.port}/webhooks`;
  const endpoint = settings.webhooksToLoopback && (await prepareEndpoint(storage, settings, credentials, url));
  return {
    thirdParty: {
      ...thirdParty,
      connection: { ...thirdParty.connection, ...credentials.thirdParty },
      ...endpoint,
    },
    firstParty: { ...firstParty, connection: { ...firstParty.connection, ...credentials.firstParty } },
  };
}

async function prepareEndpoint(storage: Storage, settings: Settings, { thirdParty }: DemoCredentials, url: string) {
  const keys = createKeyring(settings.secretKeys);
  const signingSecret = await ensureDemoEndpoint(storage, keys, { appId: thirdParty.clientId, url }, systemClock());
  return { signingSecret };
}

async function startApp(app: DemoApp) {
  const { startDemoApp } = await import('../../demo/app.ts');
  return startDemoApp(app);
}

async function startOn<Started>(port: number, start: () => Promise<Started>): Promise<Started> {
  try {
    return await start();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    throw new InvalidSetting(
      `The demo cannot listen on port ${port}. Set CONSENT_URL to another port: the demo uses the next three, too.`,
    );
  }
}

/** The apps use the two ports after the web host's, so that a second demo can run on other ports. */
function demoApps({ baseUrl, consentListen }: Settings) {
  const [third, first] = [consentListen.port + 1, consentListen.port + 2];
  const scope = 'read:invoices' as const;
  return {
    thirdParty: {
      port: third,
      scope,
      connection: { baseUrl, redirectUri: `http://127.0.0.1:${third}/callback` },
      branding: {
        id: 'ledgerly',
        name: 'Ledgerly',
        tagline: 'Books that keep themselves.',
        about: 'A third-party app. Sign in and allow access, and your invoices appear here.',
      },
    },
    firstParty: {
      port: first,
      scope,
      connection: { baseUrl, redirectUri: `http://127.0.0.1:${first}/callback` },
      branding: {
        id: 'workbench',
        name: 'Workbench',
        tagline: 'Your workspace on the platform.',
        about: 'A first-party app. It belongs to the platform, so there is no consent screen: just sign in.',
      },
    },
  };
}

interface Ports {
  third: number;
  first: number;
  mail: number;
}

function welcomeMessage(settings: Settings, { third, first, mail }: Ports): string {
  const { baseUrl, consentUrl, smtp, servesMcp } = settings;
  const { owner, member, admin } = DEMO_USERS;
  return `
Gatehouse is running. Open the first address and click Connect.

  http://127.0.0.1:${third}   Ledgerly, a third-party app: sign in, allow, see the invoices
  http://127.0.0.1:${first}   Workbench, a first-party app: no consent screen
  ${consentUrl}   the web host: connected apps, developer settings, account
  ${baseUrl}   the API, described at /docs${servesMcp ? mcpLines(baseUrl) : ''}${smtp ? '' : `\n  http://127.0.0.1:${mail}   the mail that the demo would send`}

Sign in with the password "${DEMO_PASSWORD}" as
  ${owner.email.padEnd(24)} owner of Harbour Coffee
  ${member.email.padEnd(24)} member of Harbour Coffee and Northgate Software
  ${admin.email.padEnd(24)} platform admin, and owner of Northgate Software, which makes Ledgerly

Press Ctrl+C to stop. The data stays in data/.
`;
}

function mcpLines(baseUrl: string): string {
  return `
  ${baseUrl}/mcp   the MCP server: add this address to an AI assistant on this machine.
    Here, assistants may register themselves. A server accepts that only with DYNAMIC_REGISTRATION=on.`;
}
