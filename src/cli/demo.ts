import { startDemoApp } from '../../demo/app.ts';
import { readSettings, SettingRefused, type Settings } from '../config.ts';
import { startServer } from '../server.ts';
import type { Command } from './command.ts';
import { DEMO_PASSWORD, DEMO_USERS, ensureDemoApps, ensureDemoData } from './demo-data.ts';
import { untilStopped } from './serve.ts';

const CREDENTIALS = 'data/demo-apps.json';

export const demoCommand: Command = {
  name: 'demo',
  summary: 'Serve both hosts with sample data and two demo apps to click through',
  options: {},
  async run(_, env) {
    const settings = readSettings({ LOG_LEVEL: 'warn', ...env });
    if (settings.baseUrl.startsWith('https:')) {
      throw new SettingRefused('BASE_URL is public, and the demo is for a machine of your own. Use: gatehouse serve');
    }
    const server = await startServer(settings);
    const businessId = await ensureDemoData(server.storage, Date.now());
    const credentials = await ensureDemoApps(server.storage, businessId, CREDENTIALS, Date.now());
    const { thirdParty, firstParty } = demoApps(settings);
    const apps = await Promise.all([
      startDemoApp({ ...thirdParty, connection: { ...thirdParty.connection, ...credentials.thirdParty } }),
      startDemoApp({ ...firstParty, connection: { ...firstParty.connection, ...credentials.firstParty } }),
    ]).catch((error) => {
      throw new SettingRefused(
        `A demo app cannot listen (${error.code}). Set CONSENT_URL to another port: they use the next two.`,
      );
    });
    console.log(welcome(settings, thirdParty.port, firstParty.port));
    await untilStopped();
    await Promise.all(apps.map((app) => app.close()));
    await server.close();
    return undefined;
  },
};

/** On the two ports after the web host's, so that a second demo on other ports is a whole one. */
function demoApps({ baseUrl, consentListen }: Settings) {
  const [third, first] = [consentListen.port + 1, consentListen.port + 2];
  const scope = 'read:invoices';
  return {
    thirdParty: {
      port: third,
      scope,
      connection: { baseUrl, redirectUri: `http://127.0.0.1:${third}/callback` },
      look: {
        id: 'ledgerly',
        name: 'Ledgerly',
        tagline: 'Books that keep themselves.',
        about: 'A third-party app. It asks before it sees anything: sign in, allow it, and your invoices appear here.',
      },
    },
    firstParty: {
      port: first,
      scope,
      connection: { baseUrl, redirectUri: `http://127.0.0.1:${first}/callback` },
      look: {
        id: 'workbench',
        name: 'Workbench',
        tagline: 'Your desk on the platform.',
        about:
          'A first-party app. It belongs to the platform, so there is no consent screen: sign in, and you are there.',
      },
    },
  };
}

function welcome({ baseUrl, consentUrl }: Settings, third: number, first: number): string {
  const { owner, member, admin } = DEMO_USERS;
  return `
Gatehouse is running. Open the first address and click Connect.

  http://127.0.0.1:${third}   Ledgerly, a third-party app: sign in, allow, see the invoices
  http://127.0.0.1:${first}   Workbench, a first-party app: no consent screen
  ${consentUrl}   the web host: connected apps, developer settings, account
  ${baseUrl}   the API

Sign in with the password "${DEMO_PASSWORD}" as
  ${owner.email.padEnd(24)} owner of Harbour Coffee
  ${member.email.padEnd(24)} member of Harbour Coffee and Northgate Software
  ${admin.email.padEnd(24)} platform admin, and owner of Northgate Software, which makes Ledgerly

Press Ctrl+C to stop. The data stays in data/.
`;
}
