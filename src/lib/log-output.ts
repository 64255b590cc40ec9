import { fstatSync, write, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { SECOND, systemClock } from './clock.ts';

/** In characters: about one second of a busy server. */
const MAX_BUFFERED = 1024 * 1024;
const RETRY_AFTER = SECOND / 10;
/** The parser of multipart bodies logs its options, which hold the headers of the request, and so its cookies. */
export const LOG_SERIALIZERS = { busboyOptions: () => undefined };

/** pino's number for `warn`. */
const WARN = 40;

type Callback = (error: Error | null | undefined, bytesWritten?: number) => void;
type Write = (bytes: Uint8Array, callback: Callback) => void;

/**
 * Where log lines go. Writing never blocks the event loop and never throws. While the output is full, gone or not read,
 * lines wait in a bounded buffer; lines that exceed it are dropped, counted, and reported once a write succeeds.
 */
export interface LogOutput {
  write(line: string): void;
  /** The number of lines dropped since the start. */
  dropped(): number;
}

interface State {
  write: Write;
  queue: string[];
  /** Characters that are queued or being written. */
  buffered: number;
  isWriting: boolean;
  hasFailed: boolean;
  dropped: number;
  unreported: number;
}

function createState(write: Write): State {
  return { write, queue: [], buffered: 0, isWriting: false, hasFailed: false, dropped: 0, unreported: 0 };
}

function append(state: State, line: string): void {
  if (state.buffered + line.length > MAX_BUFFERED) {
    state.dropped += 1;
    state.unreported += 1;
    return;
  }
  add(state, line);
  if (!state.isWriting) writeQueue(state);
}

function add(state: State, line: string): void {
  state.queue.push(line);
  state.buffered += line.length;
}

function writeQueue(state: State): void {
  const text = state.queue.join('');
  state.queue = [];
  state.isWriting = true;
  writeAll(state, Buffer.from(text), () => {
    state.buffered -= text.length;
    state.isWriting = false;
    reportDropped(state);
    if (state.queue.length > 0) writeQueue(state);
  });
}

/** Tries again until all of it is written, so that no line is cut in two. */
function writeAll(state: State, bytes: Uint8Array, done: () => void): void {
  state.write(bytes, (error, bytesWritten = bytes.length) => {
    state.hasFailed = Boolean(error);
    if (error) setTimeout(() => writeAll(state, bytes, done), RETRY_AFTER).unref();
    else if (bytesWritten < bytes.length) writeAll(state, bytes.subarray(bytesWritten), done);
    else done();
  });
}

function reportDropped(state: State): void {
  if (state.unreported === 0) return;
  const msg = `${state.unreported} log lines were dropped: the log could not be written.`;
  state.unreported = 0;
  add(state, `${JSON.stringify({ level: WARN, time: systemClock(), pid: process.pid, msg })}\n`);
}

let standardOutput: LogOutput | undefined;

/** Standard output, which all servers of a process share. */
export function openStandardOutput(): LogOutput {
  standardOutput ??= open(createState(isStream(1) ? writeToStream(process.stdout) : writeToFile(1)));
  return standardOutput;
}

function open(state: State): LogOutput {
  process.once('exit', () => writeRest(state));
  return { write: (line) => append(state, line), dropped: () => state.dropped };
}

/** A blocked write to a pipe must not occupy a thread of the pool: the process could not exit. */
function isStream(fd: number): boolean {
  const stat = fstatSync(fd);
  return stat.isFIFO() || stat.isSocket() || isatty(fd);
}

function writeToStream(stream: NodeJS.WritableStream): Write {
  // The callback of each write receives the error, too.
  stream.on('error', () => {});
  return (bytes, callback) => stream.write(bytes, callback);
}

/** Not `process.stdout`: it writes to files synchronously, and ends at the first error. */
function writeToFile(fd: number): Write {
  return (bytes, callback) => write(fd, bytes, callback);
}

/** On exit, so that a crash is logged. Writing to a full pipe would block, so its lines are dropped. */
function writeRest({ queue, hasFailed }: State): void {
  if (hasFailed || queue.length === 0 || isStream(1)) return;
  try {
    writeSync(1, queue.join(''));
  } catch {
    // The process is exiting.
  }
}
