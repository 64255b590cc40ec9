import { InvalidSetting } from '../config.ts';
import { FormError } from '../lib/errors.ts';
import { StorageError, StorageUnavailable } from '../storage/storage.ts';
import { type Command, UsageError } from './command.ts';

/** A worker could not start, or did not stop in time. */
export class WorkersFailed extends Error {}

/** One sentence for errors that the caller can fix; any other error is a bug, and is printed with its stack. */
export function explain({ name, options }: Command, error: unknown): unknown {
  if (error instanceof UsageError) return `${error.message} See: npm run --silent gatehouse -- ${name} --help`;
  if (error instanceof FormError) {
    const option = error.field.replace('_uris', '-uri');
    return Object.hasOwn(options, option) ? `--${option}: ${error.message}` : error.message;
  }
  return explainServing(error);
}

/** The same, for errors that do not concern an option. */
export function explainServing(error: unknown): unknown {
  if (error instanceof InvalidSetting || error instanceof StorageError) return error.message;
  if (error instanceof StorageUnavailable) return `${error.message} DATABASE_URL says which one.`;
  if (error instanceof WorkersFailed) return error.message;
  return error;
}
