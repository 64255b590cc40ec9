import { VERSION } from '../lib/package.ts';
import { type Command, explain, type Option, readOptions, requireDatabase } from './command.ts';

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
};

/** These create a database, use none, or report a missing one themselves. */
const WITHOUT_DATABASE = ['serve', 'demo', 'migrate', 'restore', 'listen', 'doctor', 'health'];

/** Returns the exit code. */
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
  const command = related.find(({ name, argument }) => name === (argument ? words[0] : words.join(' ')));
  if (!command) {
    const isHelp = related.length > 0 && args.includes('--help');
    const known = overview(related.length > 0 ? related : await loadAll());
    if (isHelp) console.log(known);
    else console.error(`There is no command '${args.join(' ')}'.\n\n${known}`);
    return isHelp ? 0 : 1;
  }
  if (args.includes('--help')) {
    console.log(helpFor(command));
    return 0;
  }
  return run(command, args.slice(command.name.split(' ').length), env);
}

async function load(word: string): Promise<Command[]> {
  return Object.hasOwn(COMMANDS, word) ? ((await COMMANDS[word]?.()) ?? []) : [];
}

async function loadAll(): Promise<Command[]> {
  return (await Promise.all(Object.values(COMMANDS).map((loadCommands) => loadCommands()))).flat();
}

async function run(command: Command, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const options = readOptions(command, args);
    if (!WITHOUT_DATABASE.includes(command.name)) requireDatabase(env);
    const result = await command.run(options, env);
    const format = command.format ?? formatResult;
    if (result) console.log(args.includes('--json') ? JSON.stringify(result) : format(result));
    return result && command.isFailure?.(result) ? 1 : 0;
  } catch (error) {
    console.error(explain(command, error));
    return 1;
  }
}

function overview(commands: Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return ['Usage: npm run --silent gatehouse -- COMMAND [OPTIONS]', '', ...lines, '', footer].join('\n');
}

const footer = `Every command accepts --help, and --json to print one JSON object. --version prints the version.
DATABASE_URL selects the database. docs/reference/settings.md lists all settings.`;

function helpFor({ name, summary, argument, options }: Command): string {
  const entries = Object.entries<Option>({
    ...(argument && { [argument.name]: { help: argument.help, required: true } }),
    ...options,
    json: { help: 'Print one JSON object' },
  });
  const terms = entries.map(([option, { value }]) =>
    option === argument?.name ? option : `--${option}${value ? ` ${value}` : ''}`,
  );
  const width = Math.max(...terms.map((term) => term.length));
  const lines = entries.map(([, { help, required, many }], i) => {
    const notes = [required && 'required', many && 'may be repeated'].filter(Boolean).join(', ');
    return `  ${(terms[i] ?? '').padEnd(width)}  ${help}${notes && ` (${notes})`}`;
  });
  return [`gatehouse ${name}: ${summary}`, '', ...lines].join('\n');
}

/** One line per field, and one block per item of a list. */
function formatResult(result: object): string {
  return Object.entries(result).map(formatField).join('\n');
}

function formatField([name, value]: [string, unknown]): string {
  if (!Array.isArray(value)) return `${name}: ${value ?? '-'}`;
  if (value.every((item) => typeof item !== 'object')) return `${name}: ${value.join(' ')}`;
  return value.map((item) => formatResult(item)).join('\n\n');
}
