import { loadAll } from '../../src/cli/gatehouse.ts';
import { examplesOf } from '../../src/cli/help.ts';
import { PASSWORD_FILE } from './command-line.ts';

/** Commands that create a database, use none, or report a missing one themselves. */
const OTHERS = ['serve', 'demo', 'migrate', 'restore', 'doctor', 'health', 'completion'];

/** The arguments of a call of every other command, with its required options. */
export async function commandsOnDatabase(): Promise<string[][]> {
  const commands = (await loadAll()).filter(({ name }) => !OTHERS.includes(name));
  return commands.map((command) => {
    const [example = ''] = examplesOf(command);
    const words = [...example.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word = '']) => quoted ?? word);
    const password = 'password-file' in command.options ? ['--password-file', PASSWORD_FILE] : [];
    return [...words.slice(1), ...password];
  });
}
