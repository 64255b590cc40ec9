import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { closestMatch } from 'leven';
import { readDatabaseUrl } from '../config/settings.ts';
import { FormError, InvalidSetting } from '../lib/errors.ts';
import { isSqliteUrl, sqliteFileOf } from '../storage/inspect.ts';
import { ensureMigrated, hasTables } from '../storage/migrate.ts';
import { openStorage } from '../storage/open.ts';
import { type Storage, StorageError, StorageUnavailable } from '../storage/storage.ts';
import { formatChoices } from './output.ts';

export interface Command {
  /** Such as `business add`. */
  name: string;
  summary: string;
  /** A value after the name of the command. Required. */
  argument?: { name: string; help: string; example: string; choices?: readonly string[] };
  options: Record<string, Option>;
  /** Options of which at least one is needed, and the error without them. */
  needsOneOf?: { options: readonly string[]; otherwise: string };
  /** It prints no object, so it has no `--json`. */
  hasNoResult?: true;
  /** What help shows after the simplest call: more options, or a whole line that begins with gatehouse. */
  examples?: string[];
  /** The fields of a list that people see; `--json` has all. */
  columns?: string[];
  /** The result is printed: one line per field and one table per list, or one JSON object with `--json`. */
  run(options: Options, env: NodeJS.ProcessEnv): Promise<object | undefined>;
  /** Replaces the default output, except with `--json`. */
  format?(result: object, context: { options: Options; env: NodeJS.ProcessEnv }): string;
  /** Whether to exit with 1 though the command itself succeeded. */
  isFailure?(result: object): boolean;
}

export interface Option {
  help: string;
  /** The placeholder of the value in the help text; without it the option is a flag. */
  value?: string;
  required?: boolean;
  /** May be given more than once. */
  multiple?: boolean;
  /** A value for the help text, if the placeholder has no usual one. */
  example?: string;
  /** All values that it accepts, for the completion of a shell. */
  choices?: readonly string[];
}

export interface Options {
  /** The value, or an empty string if omitted. */
  text(name: string): string;
  list(name: string): string[];
  flag(name: string): boolean;
  /** The value after the name of the command, if it takes one. */
  argument(): string;
}

/** Those that it declares, and `--json`. */
export function optionsOf({ options, hasNoResult }: Command): Record<string, Option> {
  return hasNoResult ? options : { ...options, json: { help: 'Print one JSON object' } };
}

/** For commands whose options are all settings that stay unchanged if omitted. */
export function somethingToChange(...options: string[]): Command['needsOneOf'] {
  const named = formatChoices(options.map((option) => `--${option}`));
  return { options, otherwise: `There is nothing to change. Give ${named}.` };
}

/** For help texts. */
export const ID_EXAMPLE = '0190b9a1-6f2b-7a11-8f00-5d1c2b3a4f60';

/** Wrong arguments. */
export class UsageError extends Error {}

export function readOptions(command: Command, args: string[]): Options {
  const { values, positionals } = parse(command, args);
  const { argument } = command;
  if (argument && positionals.length === 0) throw new UsageError(`${argument.name} is missing.`);
  if (positionals.length > 1) throw new UsageError(`There is more than one ${argument?.name}.`);
  for (const [name, { required }] of Object.entries(command.options)) {
    if (required && values[name] === undefined) throw new UsageError(`--${name} is missing.`);
  }
  const { needsOneOf } = command;
  if (needsOneOf && !needsOneOf.options.some((name) => values[name])) throw new UsageError(needsOneOf.otherwise);
  return {
    text: (name) => String(values[name] ?? ''),
    list: (name) => (values[name] ?? []) as string[],
    flag: (name) => values[name] === true,
    argument: () => positionals[0] ?? '',
  };
}

function parse(command: Command, args: string[]) {
  const known: Record<string, Partial<Option>> = { ...optionsOf(command), help: {} };
  const options = Object.entries(known).map(
    ([name, { value, multiple = false }]) => [name, { type: value ? 'string' : 'boolean', multiple }] as const,
  );
  const parsed = parseStrictly(command, { args, options: Object.fromEntries(options), tokens: true });
  const given = parsed.tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []));
  const repeated = given.find((name, i) => known[name]?.value && !known[name].multiple && given.indexOf(name) < i);
  if (repeated) throw new UsageError(`--${repeated} may be given once.`);
  return parsed;
}

function parseStrictly<Config extends ParseArgsConfig & { tokens: true }>(command: Command, config: Config) {
  try {
    const allowPositionals = command.argument !== undefined;
    return parseArgs({ ...config, strict: true, allowPositionals });
  } catch (error) {
    const sentence = `${String(error instanceof Error ? error.message : error).split(/\. |\.?\n|\.$/)[0]}.`;
    const [, unknown] = /Unknown option '--([^']+)'/.exec(sentence) ?? [];
    throw new UsageError(sentence + suggest(unknown, [...Object.keys(optionsOf(command)), 'help'], '--'));
  }
}

/** The closest name, as a question; empty if none is close. */
export function suggest(name: string | undefined, known: string[], prefix = ''): string {
  const closest = name && closestMatch(name, known, { maxDistance: Math.max(2, Math.floor(name.length / 3)) });
  return closest ? ` Did you mean ${prefix}${closest}?` : '';
}

/** SQLite would create a missing file, so a typo in DATABASE_URL would look like an empty database. */
export function requireDatabase(env: NodeJS.ProcessEnv): void {
  const url = readDatabaseUrl(env);
  if (!isSqliteUrl(url) || existsSync(sqliteFileOf(url))) return;
  throw new StorageError(
    `DATABASE_URL points at ${sqliteFileOf(url)}, which does not exist. To create it, run: gatehouse migrate`,
  );
}

/** Opens the database of DATABASE_URL, which has to have its tables. A server may be running on it. */
export function withStorage<Result>(
  env: NodeJS.ProcessEnv,
  work: (storage: Storage) => Promise<Result>,
): Promise<Result> {
  return withCreatedStorage(env, work, async (storage) => {
    if (await hasTables(storage)) return;
    throw new StorageError(
      'The database that DATABASE_URL names has no tables. To create them, run: gatehouse migrate',
    );
  });
}

/** Creates the tables where that is automatic: on SQLite. */
export async function withCreatedStorage<Result>(
  env: NodeJS.ProcessEnv,
  work: (storage: Storage) => Promise<Result>,
  check: (storage: Storage) => Promise<void> = async () => {},
): Promise<Result> {
  const storage = await openStorage(readDatabaseUrl(env));
  try {
    await check(storage);
    await ensureMigrated(storage);
    return await work(storage);
  } finally {
    await storage.close();
  }
}

/** Prints text piece by piece. A closed pipe, as by `head`, is not an error. */
export async function printAll(text: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(Readable.from(text), process.stdout, { end: false });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
  }
}

export function required<Found>(found: Found | undefined, option: string, what: string): Found {
  if (found === undefined) throw new FormError(option, `There is no such ${what}.`);
  return found;
}

/** A worker could not start, or did not stop in time. */
export class WorkersFailed extends Error {}

/** One sentence for errors that the caller can fix; any other error is a bug, and is printed with its stack. */
export function explain({ name, options }: Command, error: unknown): unknown {
  if (error instanceof UsageError) return `${error.message} See: gatehouse ${name} --help`;
  if (error instanceof FormError) {
    const option = error.field.replace('_uris', '-uri').replace(/^password$/, 'password-file');
    return Object.hasOwn(options, option) ? `--${option}: ${error.message}` : error.message;
  }
  return explainServing(error);
}

/** The same, for errors that do not concern an option. */
export function explainServing(error: unknown): unknown {
  if (error instanceof InvalidSetting || error instanceof StorageError) return error.message;
  if (error instanceof StorageUnavailable) return `${error.message} Check DATABASE_URL.`;
  if (error instanceof WorkersFailed) return error.message;
  return error;
}
