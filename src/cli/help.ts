import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGE_ROOT } from '../lib/package.ts';
import { type Command, ID_EXAMPLE, type Option, optionsOf } from './command.ts';
import { bold, formatTerms, WIDTH, wrap } from './output.ts';

/** Of all commands, or of those of one noun. */
export function overview(commands: Command[], noun = ''): string {
  const footer = [
    'Every command accepts --help. With --json, a command prints its result as one JSON object, and an error as {"error": "…"}.',
    'gatehouse --version prints the version; gatehouse completion prints a script for your shell.',
    `DATABASE_URL selects the database. All settings: ${pathOfSettings()}`,
    'Exit codes: 0 for success, 1 for an error or a failed check, 130 after Ctrl+C at a prompt.',
  ];
  return [
    `${bold(USAGE)} gatehouse ${noun && `${noun} `}COMMAND [OPTIONS]`,
    '',
    formatTerms(commands.map(({ name, summary }) => [name, summary])),
    '',
    ...footer.flatMap((line) => wrap(line)),
  ].join('\n');
}

/** Relative to the current folder if it is below it. */
function pathOfSettings(): string {
  const path = fileURLToPath(new URL('docs/reference/settings.md', PACKAGE_ROOT));
  const shorter = relative(process.cwd(), path);
  return shorter.startsWith('..') ? path : shorter;
}

export function helpFor(command: Command): string {
  const { name, summary, argument } = command;
  const terms = Object.entries(optionsOf(command)).map(describeOption);
  if (argument) terms.unshift([argument.name, `${argument.help} (required)`]);
  return [
    ...wrap(`gatehouse ${name}: ${summary}`),
    '',
    usageOf(command),
    '',
    ...(terms.length > 0 ? [formatTerms(terms), ''] : []),
    bold('Examples:'),
    ...examplesOf(command).flatMap(breakExample),
  ].join('\n');
}

/** An option and its value stay on one line. */
function usageOf(command: Command): string {
  const options = Object.entries(command.options).filter(([, { required }]) => required);
  const required = options.map(([name, { value }]) => `--${name}${value ? `\u00a0${value}` : ''}`);
  const isOptional = options.length < Object.keys(optionsOf(command)).length;
  const words = [command.name, command.argument?.name, ...required, isOptional && '[OPTIONS]'].filter(Boolean);
  const lines = wrap(`gatehouse ${words.join(' ')}`, WIDTH - USAGE.length - 3);
  return `${bold(USAGE)} ${lines.join(`\n${' '.repeat(USAGE.length + 3)}`).replaceAll('\u00a0', ' ')}`;
}

const USAGE = 'Usage:';

function describeOption([name, { value, help, required, multiple }]: [string, Option]): [string, string] {
  const notes = [required && 'required', multiple && 'may be repeated'].filter(Boolean).join(', ');
  return [`--${name}${value ? ` ${value}` : ''}`, `${help}${notes && ` (${notes})`}`];
}

/** The options that a command requires, and what its own examples add. */
export function examplesOf({ name, argument, options, needsOneOf, examples = [] }: Command): string[] {
  const required = Object.entries(options)
    .filter(([, option]) => option.required)
    .map(([option, { value = '', example }]) => ` --${option} ${quote(example ?? SAMPLES[value] ?? value)}`);
  const simple = `gatehouse ${name}${argument ? ` ${argument.example}` : ''}${required.join('')}`;
  const longer = examples.map((more) => (more.includes('gatehouse ') ? more : `${simple} ${more}`));
  return needsOneOf ? longer : [simple, ...longer];
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
  USER: 'ada@example.com',
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
