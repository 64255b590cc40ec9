import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { findBusiness } from '../accounts/businesses.ts';
import { OPERATOR } from '../audit/entries.ts';
import { exportRecords } from '../business/export.ts';
import { type ImportJob, type ImportResult, importRecords, kindOf } from '../business/import/import.ts';
import { importableColumns } from '../business/import/values.ts';
import { FILE_FORMATS, type FileFormat, readRecords } from '../business/record-files.ts';
import { systemClock } from '../lib/clock.ts';
import { FormError } from '../lib/errors.ts';
import { RESOURCES } from '../resources/all.ts';
import type { Resource } from '../resources/resource.ts';
import { type Command, type Options, printAll, required, UsageError, withStorage } from './command.ts';
import { createProgressBar } from './progress.ts';

const KINDS = RESOURCES.map(kindOf);

const BUSINESS = { value: 'ID', help: 'The id of the business', required: true };
const KIND = { value: 'KIND', help: `One of ${KINDS.join(', ')}`, required: true, choices: KINDS };

export const importCommand: Command = {
  name: 'import',
  summary:
    'Add the records of a file to a business, all or none. The file is checked first; with SQLite, other writes wait while its records are written',
  argument: { name: 'FILE', help: 'A file in CSV or JSON lines, or - for standard input', example: 'contacts.csv' },
  options: {
    business: BUSINESS,
    kind: KIND,
    format: { value: 'FORMAT', help: 'csv or jsonl (default: by the extension of the file)', choices: FILE_FORMATS },
    'dry-run': { help: 'Check the file, and import nothing' },
  },
  examples: ['--dry-run'],
  run: (options, env) =>
    withStorage(env, async ({ durable }) => {
      const business = required(await findBusiness(durable, options.text('business')), 'business', 'business');
      const [resource, format] = [readKind(options), readFormat(options, options.argument())];
      const importFile = async (file: string) => {
        const source = await openFile(file, resource, format);
        const job = { business, resource, isDryRun: options.flag('dry-run'), ...source };
        const result = await importRecords(OPERATOR, durable, job, systemClock).finally(source.finish);
        return { kind: kindOf(resource), ...result };
      };
      return options.argument() === '-' ? withStandardInput(importFile) : importFile(options.argument());
    }),
  format: (result) => formatImport(result as ImportResult & { kind: string }),
  isFailure: (result) => (result as ImportResult).problems.length > 0,
};

export const exportCommand: Command = {
  name: 'export',
  summary: 'Write all records of one kind, in a form that import reads',
  options: {
    business: BUSINESS,
    kind: KIND,
    format: {
      value: 'FORMAT',
      help: 'csv or jsonl (default: by the extension of the file, or csv)',
      choices: FILE_FORMATS,
    },
    output: { value: 'FILE', help: 'The file to write (default: standard output)' },
  },
  examples: ['--output contacts.csv', '--format jsonl'],
  async run(options, env) {
    const output = options.text('output');
    if (options.flag('json') && output === '')
      throw new UsageError('--json goes with --output. Records are written with --format.');
    return withStorage(env, async ({ durable }) => {
      const business = required(await findBusiness(durable, options.text('business')), 'business', 'business');
      const resource = readKind(options);
      const format = readFormat(options, output || '.csv');
      const text = exportRecords(durable, resource, { businessId: business.id, format });
      if (output === '') await printAll(text);
      else await pipeline(Readable.from(text), createWriteStream(output, { mode: 0o600 }));
      return output === '' ? undefined : { kind: kindOf(resource), file: output };
    });
  },
};

function readKind(options: Options): Resource {
  const found = RESOURCES.find((resource) => kindOf(resource) === options.text('kind'));
  if (!found) throw new FormError('kind', `Use one of ${KINDS.join(', ')}.`);
  return found;
}

function readFormat(options: Options, file: string): FileFormat {
  const given = options.text('format') || extname(file).slice(1).replace('ndjson', 'jsonl');
  const format = FILE_FORMATS.find((each) => each === given) ?? (file === '.csv' ? 'csv' : undefined);
  if (!format) throw new FormError('format', 'Use csv or jsonl: the extension of the file is neither.');
  return format;
}

/** The file is read twice; standard input can be read only once. */
async function withStandardInput<Result>(use: (file: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-import-'));
  try {
    const file = join(folder, 'input');
    await pipeline(process.stdin, createWriteStream(file, { mode: 0o600 }));
    return await use(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function openFile(file: string, resource: Resource, format: FileFormat) {
  const { size } = await stat(file).catch(() => {
    throw new FormError('file', `${file} cannot be read.`);
  });
  const bar = createProgressBar(process.stderr);
  let bytesRead = () => 0;
  const onProgress: ImportJob['onProgress'] = (step, records) =>
    bar.show(step, bytesRead() / size, `${records} records`);
  return {
    open() {
      const stream = createReadStream(file);
      bytesRead = () => stream.bytesRead;
      return readRecords(stream, format, importableColumns(resource));
    },
    onProgress,
    finish: bar.clear,
  };
}

function formatImport({ kind, records, isImported, problems, moreProblems }: ImportResult & { kind: string }): string {
  if (problems.length === 0) {
    const singular = RESOURCES.find((resource) => kindOf(resource) === kind)?.name.replaceAll('_', '-');
    const counted = `${records} ${records === 1 ? singular : kind}`;
    return isImported ? `Imported: ${counted}.` : `Checked: ${counted} can be imported.`;
  }
  const lines = problems.map(({ line, field, message }) => `line ${line}: ${field ? `${field} ` : ''}${message}`);
  const more = moreProblems > 0 ? [`and ${moreProblems} more`] : [];
  return ['Nothing was imported.', ...lines, ...more].join('\n');
}
