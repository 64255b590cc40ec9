// Names files of src in the stack traces of the bundle. Node's own support reads all maps at each start, which takes longer
// than the start should; this reads one when a stack trace is formatted.
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

/** By the URL of the file; undefined if it has none. */
const maps = new Map();

Error.prepareStackTrace = (error, frames) => [describe(error), ...frames.map(formatFrame)].join('\n    at ');

function describe(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return 'Error';
  }
}

function formatFrame(frame) {
  const [file, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()];
  const origin = file?.startsWith('file:') && findMap(file)?.findOrigin(line, column);
  if (!origin?.fileName) return String(frame);
  // Below node_modules, the map knows the file and not the line.
  const [, library] = /(node_modules\/.*)/.exec(origin.fileName) ?? [];
  const name = library ?? `${origin.fileName.replace(/^(?:\.\.\/)+/, '')}:${origin.lineNumber}:${origin.columnNumber}`;
  return String(frame).replace(`${file}:${line}:${column}`, name);
}

function findMap(file) {
  if (!maps.has(file)) maps.set(file, readMap(file));
  return maps.get(file);
}

function readMap(file) {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${file}.map`), 'utf8')));
  } catch {
    return undefined;
  }
}
