import assert from 'node:assert/strict';
import { appCommands } from '../../src/cli/apps.ts';
import { readOptions } from '../../src/cli/command.ts';
import { memberCommands } from '../../src/cli/members.ts';
import { userCommands } from '../../src/cli/users.ts';
import { rememberSecret } from './leaks.ts';
import type { World } from './world.ts';

const COMMANDS = [...userCommands, ...memberCommands, ...appCommands];

/** Runs commands about users, members and apps on the database of a test's world. An option with an empty value is a flag. */
export function newOperator(world: World) {
  const env = {
    DATABASE_URL: world.database.url,
    CONSENT_URL: world.web,
    BASE_URL: world.api,
    SECRET_KEYS: world.settings.secretKeys[0],
  };
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever a command returned.
  return async (name: string, options: Record<string, string>): Promise<any> => {
    const command = COMMANDS.find((each) => each.name === name);
    assert.ok(command, name);
    const args = Object.entries(options).flatMap(([option, value]) => [`--${option}`, ...(value ? [value] : [])]);
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    const result: any = await command.run(readOptions(command, args), env);
    rememberSecret('link to set a password', result?.link?.split('/').at(-1));
    return result;
  };
}
