import type { Command, Option } from './command.ts';

export function overview(commands: Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return ['Usage: npm run --silent gatehouse -- COMMAND [OPTIONS]', '', ...lines, '', footer].join('\n');
}

const footer = `Every command takes --help, and --json to print one JSON object. --version prints the version.
DATABASE_URL says which database; docs/reference/settings.md lists every setting.`;

export function helpFor({ name, summary, options }: Command): string {
  const entries = Object.entries<Option>({ ...options, json: { help: 'Print one JSON object' } });
  const terms = entries.map(([option, { value }]) => `--${option}${value ? ` ${value}` : ''}`);
  const width = Math.max(...terms.map((term) => term.length));
  const lines = entries.map(([, { help, required, many }], i) => {
    const notes = [required && 'required', many && 'may be repeated'].filter(Boolean).join(', ');
    return `  ${(terms[i] ?? '').padEnd(width)}  ${help}${notes && ` (${notes})`}`;
  });
  return [`gatehouse ${name}: ${summary}`, '', ...lines].join('\n');
}
