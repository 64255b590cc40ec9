import { appCommands } from './apps.ts';
import { auditCommands } from './audit.ts';
import { backupCommand } from './backup.ts';
import { businessCommands } from './businesses.ts';
import { type Command, readOptions } from './command.ts';
import { demoCommand } from './demo.ts';
import { doctorCommand } from './doctor.ts';
import { endpointCommands } from './endpoints.ts';
import { explain } from './explain.ts';
import { helpFor, overview } from './help.ts';
import { invoiceCommands } from './invoices.ts';
import { keyCommands } from './keys.ts';
import { listenCommand } from './listen.ts';
import { memberCommands } from './members.ts';
import { migrateCommand } from './migrate.ts';
import { formatResult } from './output.ts';
import { restoreCommand } from './restore.ts';
import { serveCommand } from './serve.ts';
import { userCommands } from './users.ts';

const COMMANDS: Command[] = [
  serveCommand,
  demoCommand,
  migrateCommand,
  doctorCommand,
  ...businessCommands,
  ...userCommands,
  ...memberCommands,
  ...appCommands,
  ...endpointCommands,
  ...invoiceCommands,
  ...auditCommands,
  ...keyCommands,
  backupCommand,
  restoreCommand,
  listenCommand,
];

/** Gives the exit code. */
export async function runGatehouse(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  if (args[0] === 'help') return runGatehouse([...args.slice(1), '--help'], env);
  const firstOption = args.findIndex((arg) => arg.startsWith('-'));
  const words = firstOption === -1 ? args : args.slice(0, firstOption);
  const command = COMMANDS.find(({ name }) => name === words.join(' '));
  if (args.length === 0 || (words.length === 0 && args.includes('--help'))) {
    console.log(overview(COMMANDS));
    return 0;
  }
  if (!command) {
    const related = COMMANDS.filter(({ name }) => name.split(' ')[0] === words[0]);
    const isQuestion = related.length > 0 && args.includes('--help');
    if (isQuestion) console.log(overview(related));
    else
      console.error(`There is no command '${args.join(' ')}'.\n\n${overview(related.length > 0 ? related : COMMANDS)}`);
    return isQuestion ? 0 : 1;
  }
  if (args.includes('--help')) {
    console.log(helpFor(command));
    return 0;
  }
  return run(command, args.slice(words.length), env);
}

async function run(command: Command, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const result = await command.run(readOptions(command, args), env);
    const format = command.format ?? formatResult;
    if (result) console.log(args.includes('--json') ? JSON.stringify(result) : format(result));
    return result && command.isBadNews?.(result) ? 1 : 0;
  } catch (error) {
    console.error(explain(command, error));
    return 1;
  }
}
