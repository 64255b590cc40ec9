import { inspect } from 'node:util';
import { VERSION } from '../lib/package.ts';
import { type Command, explain, readOptions, requireDatabase, suggest } from './command.ts';
import { helpFor, overview } from './help.ts';
import { formatChoices, formatResult, withIsoTimes } from './output.ts';

/** By the first word, in the order of the overview. Loaded on demand. */
const COMMANDS: Record<string, () => Promise<Command[]>> = {
  serve: async () => [(await import('./serve.ts')).serveCommand],
  demo: async () => [(await import('./demo.ts')).demoCommand],
  migrate: async () => [(await import('./migrate.ts')).migrateCommand],
  doctor: async () => [(await import('./doctor.ts')).doctorCommand],
  health: async () => [(await import('./health.ts')).healthCommand],
  business: async () => (await import('./businesses.ts')).businessCommands,
  platform: async () => (await import('./businesses.ts')).platformCommands,
  user: async () => (await import('./users.ts')).userCommands,
  member: async () => (await import('./businesses.ts')).memberCommands,
  app: async () => [
    ...(await import('./apps.ts')).appCommands,
    ...(await import('./app-identity.ts')).appIdentityCommands,
  ],
  endpoint: async () => (await import('./endpoints.ts')).endpointCommands,
  invoice: async () => (await import('./invoices.ts')).invoiceCommands,
  import: async () => [(await import('./records.ts')).importCommand],
  export: async () => [(await import('./records.ts')).exportCommand],
  audit: async () => (await import('./audit.ts')).auditCommands,
  keys: async () => (await import('./keys.ts')).keyCommands,
  clock: async () => [(await import('./database.ts')).clockConfirmCommand],
  backup: async () => [(await import('./database.ts')).backupCommand],
  restore: async () => [(await import('./database.ts')).restoreCommand],
  listen: async () => [(await import('./listen.ts')).listenCommand],
  completion: async () => [(await import('./completion.ts')).completionCommand],
};

/** Commands that were renamed. The former names still work. */
const FORMER_NAMES: Record<string, string> = { 'keys reseal': 'keys reencrypt' };

/** These commands create a database, use none, or report a missing one themselves. */
const WITHOUT_DATABASE = ['serve', 'demo', 'migrate', 'restore', 'doctor', 'health', 'completion'];

/** Returns the exit code. */
export async function runGatehouse(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  if (args[0] === 'help') return runGatehouse([...args.slice(1), '--help'], env);
  const firstOption = args.findIndex((arg) => arg.startsWith('-'));
  const words = firstOption === -1 ? args : args.slice(0, firstOption);
  const isHelp = args.includes('--help') || args.includes('-h');
  if (args.length === 0 || (words.length === 0 && isHelp)) return print(overview(await loadAll()));
  if (['version', '--version', '-V'].includes(args[0] ?? '')) return print(formatVersion(args.includes('--json')));
  const related = await load(words[0] ?? '');
  const named = FORMER_NAMES[words.slice(0, 2).join(' ')]?.split(' ') ?? words;
  const command = related.find(({ name }) => name.split(' ').every((word, i) => named[i] === word));
  if (!command && isHelp && related.length > 0) return print(overview(related, words[0]));
  if (!command) return reject(await explainUnknown(words, related), args);
  if (isHelp) return print(helpFor(command));
  return run(command, args.slice(command.name.split(' ').length), env);
}

function print(text: string): number {
  console.log(text);
  return 0;
}

function formatVersion(isJson: boolean): string {
  const { node } = process.versions;
  return isJson ? JSON.stringify({ gatehouse: VERSION, node }) : `gatehouse ${VERSION} (Node v${node})`;
}

function reject(error: unknown, args: string[]): number {
  const message = typeof error === 'string' ? error : inspect(error);
  console.error(args.includes('--json') ? JSON.stringify({ error: message }) : message);
  return 1;
}

async function explainUnknown([noun, verb = '']: string[], related: Command[]): Promise<string> {
  if (noun === undefined) return 'The name of a command comes first. See: gatehouse --help';
  const typed = `${noun} ${verb}`.trimEnd();
  if (related.length === 0) {
    const names = (await loadAll()).map(({ name }) => name);
    const suggestion = suggest(typed, names) || suggest(noun, Object.keys(COMMANDS));
    return `There is no command '${typed}'.${suggestion} See: gatehouse --help`;
  }
  const verbs = related.map(({ name }) => name.slice(noun.length + 1));
  const sentence =
    verb === ''
      ? `${noun} needs a subcommand: ${formatChoices(verbs)}.`
      : `There is no command '${typed}'.${suggest(verb, verbs, `${noun} `)}`;
  return `${sentence} See: gatehouse ${noun} --help`;
}

async function load(word: string): Promise<Command[]> {
  return Object.hasOwn(COMMANDS, word) ? ((await COMMANDS[word]?.()) ?? []) : [];
}

export async function loadAll(): Promise<Command[]> {
  return (await Promise.all(Object.values(COMMANDS).map((loadCommands) => loadCommands()))).flat();
}

async function run(command: Command, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const options = readOptions(command, args);
    if (!WITHOUT_DATABASE.includes(command.name)) requireDatabase(env);
    const result = await command.run(options, env);
    const format = command.format ?? ((shown) => formatResult(shown, command.columns));
    if (result)
      console.log(options.flag('json') ? JSON.stringify(withIsoTimes(result)) : format(result, { options, env }));
    return result && command.isFailure?.(result) ? 1 : 0;
  } catch (error) {
    return reject(explain(command, error), args);
  }
}
