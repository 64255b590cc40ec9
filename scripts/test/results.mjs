// A reporter for `node --test`: one line of JSON for each test, with its file and whether it passed.
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export default async function* report(events) {
  for await (const { type, data } of events) {
    if ((type !== 'test:pass' && type !== 'test:fail') || data.details?.type === 'suite' || !data.file) continue;
    if (isWholeFile(type, data)) continue;
    const file = relative(ROOT, data.file);
    const isSkipped = Boolean(data.skip || data.todo);
    const isPassed = type === 'test:pass' && !isSkipped;
    const error = type === 'test:fail' ? describe(data.details?.error) : undefined;
    yield `${JSON.stringify({ file, name: data.name, isPassed, isSkipped, error })}\n`;
  }
}

/** files.mjs runs each file as a test. It is reported only if the file cannot be loaded. */
function isWholeFile(type, { file, details }) {
  const isLoaded = type === 'test:pass' || details?.error?.failureType === 'subtestsFailed';
  return file.endsWith('/scripts/test/files.mjs') && isLoaded;
}

/** The error of the test, which the runner wraps in its own. */
function describe(error) {
  return `${error?.cause?.stack ?? error?.cause ?? error}`;
}
