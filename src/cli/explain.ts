import { InvalidSetting } from '../config.ts';
import { FormError } from '../lib/errors.ts';
import { StorageError, StorageUnavailable } from '../storage/storage.ts';
import { type Command, UsageError } from './command.ts';

/** The workers could not begin, or not end, as they should; the sentence says all that there is to say. */
export class WorkersFailed extends Error {}

/** One sentence for whatever the caller can mend; anything else is a bug, and shows all of itself. */
export function explain({ name, options }: Command, error: unknown): unknown {
  if (error instanceof UsageError) return `${error.message} See: npm run --silent gatehouse -- ${name} --help`;
  if (error instanceof FormError) {
    const option = error.field.replace('_uris', '-uri');
    return Object.hasOwn(options, option) ? `--${option}: ${error.message}` : error.message;
  }
  return explainServing(error);
}

/** The same where the options are not to blame. */
export function explainServing(error: unknown): unknown {
  if (error instanceof InvalidSetting || error instanceof StorageError) return error.message;
  if (error instanceof StorageUnavailable) return `${error.message} DATABASE_URL says which one.`;
  if (error instanceof WorkersFailed) return error.message;
  return error;
}
