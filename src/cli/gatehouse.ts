import { VERSION } from '../lib/package.ts';
import { type Command, readOptions, requireDatabase } from './command.ts';
import { explain } from './explain.ts';
import { helpFor, overview } from './help.ts';
import { formatResult } from './output.ts';

/** By the first word, in the order of the overview. Only what is called is loaded. */
const COMMANDS: Record<string, () => Promise<Command[]>> = {
  serve: async () => [(await import('./serve.ts')).serveCommand],
  demo: async () => [(await import('./demo.ts')).demoCommand],
  migrate: async () => [(await import('./migrate.ts')).migrateCommand],
  doctor: async () => [(await import('./doctor.ts')).doctorCommand],
  business: async () => (await import('./businesses.ts')).businessCommands,
  user: async () => (await import('./users.ts')).userCommands,
  member: async () => (await import('./members.ts')).memberCommands,
  app: async () => (await import('./apps.ts')).appCommands,
  endpoint: async () => (await import('./endpoints.ts')).endpointCommands,
  invoice: async () => (await import('./invoices.ts')).invoiceCommands,
  audit: async () => (await import('./audit.ts')).auditCommands,
  keys: async () => (await import('./keys.ts')).keyCommands,
  clock: async () => [(await import('./clock.ts')).clockConfirmCommand],
  backup: async () => [(await import('./backup.ts')).backupCommand],
  restore: async () => [(await import('./restore.ts')).restoreCommand],
  listen: async () => [(await import('./listen.ts')).listenCommand],
};

/** These create a database, use none, or report themselves that there is none. */
const WITHOUT_DATABASE = ['serve', 'demo', 'migrate', 'restore', 'listen', 'doctor'];

/** Gives the exit code. */
export async function runGatehouse(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  if (args[0] === 'help') return runGatehouse([...args.slice(1), '--help'], env);
  const firstOption = args.findIndex((arg) => arg.startsWith('-'));
  const words = firstOption === -1 ? args : args.slice(0, firstOption);
  if (args.length === 0 || (words.length === 0 && args.includes('--help'))) {
    console.log(overview(await loadAll()));
    return 0;
  }
  if (words.length === 0 && args.includes('--version')) {
    const { node } = process.versions;
    const isJson = args.includes('--json');
    console.log(isJson ? JSON.stringify({ gatehouse: VERSION, node }) : `gatehouse ${VERSION} (Node v${node})`);
    return 0;
  }
  const related = await load(words[0] ?? '');
  const command = related.find(({ name }) => name === words.join(' '));
  if (!command) {
    const isQuestion = related.length > 0 && args.includes('--help');
    const known = overview(related.length > 0 ? related : await loadAll());
    if (isQuestion) console.log(known);
    else console.error(`There is no command '${args.join(' ')}'.\n\n${known}`);
    return isQuestion ? 0 : 1;
  }
  if (args.includes('--help')) {
    console.log(helpFor(command));
    return 0;
  }
  return run(command, args.slice(words.length), env);
}

async function load(word: string): Promise<Command[]> {
  return Object.hasOwn(COMMANDS, word) ? ((await COMMANDS[word]?.()) ?? []) : [];
}

async function loadAll(): Promise<Command[]> {
  return (await Promise.all(Object.values(COMMANDS).map((about) => about()))).flat();
}

async function run(command: Command, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const options = readOptions(command, args);
    if (!WITHOUT_DATABASE.includes(command.name)) requireDatabase(env);
    const result = await command.run(options, env);
    const format = command.format ?? formatResult;
    if (result) console.log(args.includes('--json') ? JSON.stringify(result) : format(result));
    return result && command.isBadNews?.(result) ? 1 : 0;
  } catch (error) {
    console.error(explain(command, error));
    return 1;
  }
}
