// Reads the results that the processes of a run write, and prints failed tests at once and how far the run is.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** In milliseconds. */
const READ_EVERY = 500;
/** A log is read later, so it gets a line only now and then. A terminal shows the last line alone. */
const LINE_EVERY = 20_000;

/** A line of a file of results. */
interface Result {
  file: string;
  name: string;
  isPassed: boolean;
  isSkipped: boolean;
  error?: string;
}

interface Run {
  /** The folder of the results. */
  results: string;
  files: { total: number; countEnded: () => number; listRunning: () => string[] };
  output: { isTTY?: boolean; columns?: number; write(text: string): unknown };
}

export function startProgress({ results, files, output }: Run) {
  const started = performance.now();
  const read = new Map<string, number>();
  const failed: Result[] = [];
  let passed = 0;
  let skipped = 0;
  let isShown = false;
  let shownAt = started;
  const timer = setInterval(update, READ_EVERY);

  /** Clears the line of the terminal that shows how far the run is, and prints the text. */
  function print(text: string): void {
    output.write(`${isShown ? '\r\x1b[K' : ''}${text}\n`);
    isShown = false;
  }

  function update(): void {
    for (const result of readNew()) count(result);
    if (output.isTTY) {
      const line = describe().slice(0, (output.columns ?? 80) - 1);
      output.write(`\r\x1b[K${line}`);
      isShown = true;
    } else if (performance.now() - shownAt >= LINE_EVERY) {
      shownAt = performance.now();
      print(describe());
    }
  }

  /** A process may be writing the last line, so that one waits for its end. */
  function readNew(): Result[] {
    return globSync(join(results, 'results-*.jsonl')).flatMap((path) => {
      const text = readFileSync(path, 'utf8');
      const from = read.get(path) ?? 0;
      const to = text.lastIndexOf('\n') + 1;
      read.set(path, to);
      const lines = text.slice(from, to).split('\n').filter(Boolean);
      return lines.map((line) => JSON.parse(line));
    });
  }

  function count(result: Result): void {
    const { file, name, isPassed, isSkipped, error = '' } = result;
    if (isPassed) passed += 1;
    else if (isSkipped) skipped += 1;
    else {
      failed.push(result);
      print(`✖ ${name} (${file})\n${error.replaceAll(/^/gm, '  ')}\n`);
    }
  }

  function describe(): string {
    const seconds = Math.round((performance.now() - started) / 1000);
    const time = `${Math.floor(seconds / 60)}:${`${seconds % 60}`.padStart(2, '0')}`;
    const running = files.listRunning().map((file) => basename(file, '.test.ts'));
    const ended = `${files.countEnded()} of ${files.total} files`;
    return `${time}  ${passed} passed, ${failed.length} failed, ${ended}  ${running.join(', ')}`;
  }

  /** The tests that failed, once more, and the sum. */
  function end(): void {
    clearInterval(timer);
    for (const result of readNew()) count(result);
    if (failed.length > 0) print(`\nFailed:\n${failed.map(({ file, name }) => `  ${file}: ${name}`).join('\n')}\n`);
    print(`${passed} passed, ${failed.length} failed, ${skipped} skipped`);
  }

  return { print, end };
}
