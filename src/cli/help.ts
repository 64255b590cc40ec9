import { type Command, ID_EXAMPLE, JSON_OPTION, type Option } from './command.ts';
import { bold, formatTerms, WIDTH, wrap } from './output.ts';

export function overview(commands: Command[]): string {
  const footer = [
    'Every command accepts --help, and --json to print one JSON object.',
    'gatehouse --version prints the version; gatehouse completion prints a script for your shell.',
    'DATABASE_URL selects the database. docs/reference/settings.md lists all settings.',
    'Exit codes: 0 for success, 1 for an error or a failed check, 130 after Ctrl+C at a prompt.',
  ];
  return [
    `${bold('Usage:')} gatehouse COMMAND [OPTIONS]`,
    '',
    formatTerms(commands.map(({ name, summary }) => [name, summary])),
    '',
    ...footer.flatMap((line) => wrap(line)),
  ].join('\n');
}

export function helpFor(command: Command): string {
  const { name, summary, argument, options } = command;
  const terms = Object.entries<Option>({ ...options, json: JSON_OPTION }).map(describeOption);
  return [
    ...wrap(`gatehouse ${name}: ${summary}`),
    '',
    formatTerms([...(argument ? [[argument.name, `${argument.help} (required)`] as [string, string]] : []), ...terms]),
    '',
    bold('Examples:'),
    ...examplesOf(command).flatMap(breakExample),
  ].join('\n');
}

function describeOption([name, { value, help, required, multiple }]: [string, Option]): [string, string] {
  const notes = [required && 'required', multiple && 'may be repeated'].filter(Boolean).join(', ');
  return [`--${name}${value ? ` ${value}` : ''}`, `${help}${notes && ` (${notes})`}`];
}

/** The options that a command requires, and what its own examples add. */
export function examplesOf({ name, argument, options, examples = [] }: Command): string[] {
  const required = Object.entries(options)
    .filter(([, option]) => option.required)
    .map(([option, { value = '', example }]) => ` --${option} ${quote(example ?? SAMPLES[value] ?? value)}`);
  const simple = `gatehouse ${name}${argument ? ` ${argument.example}` : ''}${required.join('')}`;
  return [simple, ...examples.map((more) => (more.includes('gatehouse ') ? more : `${simple} ${more}`))];
}

/** Long lines are continued, as a shell reads them. */
function breakExample(example: string): string[] {
  if (example.length <= WIDTH - 2) return [`  ${example}`];
  const parts = example.split(/ (?=--|gatehouse |[A-Z_]+=)/);
  return parts.map((part, i) => `${i === 0 ? '  ' : '      '}${part}${i < parts.length - 1 ? ' \\' : ''}`);
}

/** By the placeholder of the value. */
const SAMPLES: Record<string, string> = {
  ID: ID_EXAMPLE,
  NAME: 'Acme Ltd',
  EMAIL: 'ada@example.com',
  ROLE: 'admin',
  URL: 'https://app.example.com/callback',
  SCOPE: 'read:invoices',
  NUMBER: 'INV-1',
  AMOUNT: '120.50',
  CODE: 'GBP',
  STATUS: 'SENT',
  KIND: 'contacts',
  FILE: 'gatehouse-backup.db',
  'yes|no': 'yes',
};

const quote = (text: string): string => (/^[\w:/.@-]+$/.test(text) ? text : `"${text}"`);
