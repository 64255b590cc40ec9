import { connect, type Socket } from 'node:net';

/** One request as it goes over the wire, made beforehand: the load must never be slower than what it loads. */
export interface Request {
  origin: string;
  text: string;
}

export interface Answer {
  status: number;
  /** The status line and the headers. */
  head: string;
  body: string;
}

/** Keeps one connection to each origin, with one request under way at a time. */
export interface Lane {
  ask(request: Request): Promise<Answer>;
  close(): void;
}

class ConnectionLost extends Error {}

export function get(origin: string, path: string, headers: Record<string, string> = {}): Request {
  return { origin, text: `GET ${path} HTTP/1.1\r\n${lines(origin, headers)}\r\n` };
}

export function postJson(origin: string, path: string, fields: object, headers: Record<string, string> = {}): Request {
  return post(origin, path, 'application/json', JSON.stringify(fields), headers);
}

export function postForm(
  origin: string,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Request {
  const body = new URLSearchParams(fields).toString();
  return post(origin, path, 'application/x-www-form-urlencoded', body, headers);
}

function post(origin: string, path: string, type: string, body: string, headers: Record<string, string>): Request {
  const described = { ...headers, 'content-type': type, 'content-length': String(Buffer.byteLength(body)) };
  return { origin, text: `POST ${path} HTTP/1.1\r\n${lines(origin, described)}\r\n${body}` };
}

function lines(origin: string, headers: Record<string, string>): string {
  const all = Object.entries({ host: origin.slice('http://'.length), ...headers });
  return all.map(([name, value]) => `${name}: ${value}\r\n`).join('');
}

export function openLane(): Lane {
  const wires = new Map<string, Wire>();
  return {
    ask({ origin, text }) {
      let wire = wires.get(origin);
      if (!wire || wire.isClosed()) {
        wire?.close();
        wire = openWire(origin);
        wires.set(origin, wire);
      }
      return wire.ask(text);
    },
    close() {
      for (const wire of wires.values()) wire.close();
      wires.clear();
    },
  };
}

/** In milliseconds. Servers close connections that have rested for some seconds, perhaps just as they are used again. */
const REST = 2000;

interface Wire {
  ask(text: string): Promise<Answer>;
  isClosed(): boolean;
  close(): void;
}

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

function openWire(origin: string): Wire {
  const { hostname, port } = new URL(origin);
  const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let waiting: Waiting | undefined;
  let received = '';
  let isClosed = false;
  let lastUsed = performance.now();
  const fail = (error: Error) => {
    isClosed = true;
    waiting?.reject(error);
    waiting = undefined;
  };
  // One character for each byte, so that lengths are lengths.
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    received = received === '' ? chunk : received + chunk;
    const read = readAnswer(received);
    if (!read) return;
    received = '';
    if (/\r\nconnection: close/i.test(read.head)) isClosed = true;
    const { resolve } = waiting ?? { resolve: () => {} };
    waiting = undefined;
    resolve(read);
  });
  socket.on('error', fail);
  socket.on('close', () => fail(new ConnectionLost(`${origin} closed the connection`)));
  return {
    ask: (text) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        lastUsed = performance.now();
        socket.write(text, 'latin1');
      }),
    isClosed: () => isClosed || performance.now() - lastUsed > REST,
    close: () => socket.destroy(),
  };
}

const HAS_LENGTH = /\r\ncontent-length: *(\d+)/i;
const IS_CHUNKED = /\r\ntransfer-encoding: *chunked/i;

/** Undefined until all of it is there. Only what these servers send is understood: a length, chunks, or no body. */
export function readAnswer(text: string): Answer | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const head = text.slice(0, end);
  const status = Number(head.slice(9, 12));
  const start = end + 4;
  const [, length] = HAS_LENGTH.exec(head) ?? [];
  if (length !== undefined) {
    const whole = start + Number(length);
    return text.length < whole ? undefined : { status, head, body: text.slice(start, whole) };
  }
  if (!IS_CHUNKED.test(head)) return { status, head, body: '' };
  const body = readChunks(text, start);
  return body === undefined ? undefined : { status, head, body };
}

function readChunks(text: string, start: number): string | undefined {
  let body = '';
  for (let place = start; ; ) {
    const line = text.indexOf('\r\n', place);
    if (line === -1) return undefined;
    const size = Number.parseInt(text.slice(place, line), 16);
    const next = line + 2 + size + 2;
    if (text.length < next) return undefined;
    if (size === 0) return body;
    body += text.slice(line + 2, line + 2 + size);
    place = next;
  }
}

export function headerOf({ head }: Answer, name: string): string | undefined {
  return new RegExp(`\\r\\n${name}: *([^\\r]*)`, 'i').exec(head)?.[1];
}
