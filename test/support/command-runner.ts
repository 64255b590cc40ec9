import assert from 'node:assert/strict';
import { appIdentityCommands } from '../../src/cli/app-identity.ts';
import { appCommands } from '../../src/cli/apps.ts';
import { auditCommands } from '../../src/cli/audit.ts';
import { businessCommands, memberCommands, platformCommands } from '../../src/cli/businesses.ts';
import { readOptions } from '../../src/cli/command.ts';
import { endpointCommands } from '../../src/cli/endpoints.ts';
import { userCommands } from '../../src/cli/users.ts';
import { writePassword } from './command-line.ts';
import { rememberSecret } from './leaks.ts';
import type { TestServer } from './test-server.ts';

const COMMANDS = [
  ...businessCommands,
  ...platformCommands,
  ...userCommands,
  ...memberCommands,
  ...appCommands,
  ...appIdentityCommands,
  ...endpointCommands,
  ...auditCommands,
];

/** Runs commands about the platform, businesses, users, members, apps, endpoints and the audit log on the database of a test server. An option with an empty value is a flag. */
export function createCommandRunner(server: TestServer) {
  const env = {
    DATABASE_URL: server.database.url,
    CONSENT_URL: server.web,
    BASE_URL: server.api,
    SECRET_KEYS: server.settings.secretKeys[0],
  };
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field, and assert its value.
  return async (name: string, options: Record<string, string>): Promise<any> => {
    const command = COMMANDS.find((each) => each.name === name);
    assert.ok(command, name);
    const args = Object.entries(options).flatMap(([option, value]) =>
      option === 'password' ? ['--password-file', writePassword(value)] : [`--${option}`, ...(value ? [value] : [])],
    );
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    const result: any = await command.run(readOptions(command, args), env);
    rememberSecret('link to set a password', result?.link?.split('/').at(-1));
    rememberSecret('signing secret', result?.secret);
    return result;
  };
}
