import { connect, type Socket } from 'node:net';

/** A serialized request. It is built in advance, to keep the load generator fast. */
export interface HttpRequest {
  origin: string;
  text: string;
}

export interface HttpResponse {
  status: number;
  /** The status line and the headers. */
  head: string;
  body: string;
}

/** Keeps one connection per origin, with one request at a time. */
export interface HttpClient {
  ask(request: HttpRequest): Promise<HttpResponse>;
  close(): void;
}

/** Without any part of a response. */
class ConnectionClosed extends Error {}

export function get(origin: string, path: string, headers: Record<string, string> = {}): HttpRequest {
  return { origin, text: `GET ${path} HTTP/1.1\r\n${formatHeaders(origin, headers)}\r\n` };
}

export function postJson(
  origin: string,
  path: string,
  fields: object,
  headers: Record<string, string> = {},
): HttpRequest {
  return post(origin, path, 'application/json', JSON.stringify(fields), headers);
}

export function postForm(
  origin: string,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): HttpRequest {
  const body = new URLSearchParams(fields).toString();
  return post(origin, path, 'application/x-www-form-urlencoded', body, headers);
}

function post(origin: string, path: string, type: string, body: string, headers: Record<string, string>): HttpRequest {
  const described = { ...headers, 'content-type': type, 'content-length': String(Buffer.byteLength(body)) };
  return { origin, text: `POST ${path} HTTP/1.1\r\n${formatHeaders(origin, described)}\r\n${body}` };
}

function formatHeaders(origin: string, headers: Record<string, string>): string {
  const all = Object.entries({ host: origin.slice('http://'.length), ...headers });
  return all.map(([name, value]) => `${name}: ${value}\r\n`).join('');
}

export function createHttpClient(): HttpClient {
  const connections = new Map<string, OriginConnection>();
  const reconnect = (origin: string): OriginConnection => {
    connections.get(origin)?.close();
    const connection = openConnection(origin);
    connections.set(origin, connection);
    return connection;
  };
  return {
    ask({ origin, text }) {
      const idle = connections.get(origin);
      if (!idle || idle.isClosed()) return reconnect(origin).ask(text);
      return idle.ask(text).catch((error) => {
        // A server may close an idle connection while a request is on its way. Then it has not read the request.
        if (error instanceof ConnectionClosed) return reconnect(origin).ask(text);
        throw error;
      });
    },
    close() {
      for (const connection of connections.values()) connection.close();
      connections.clear();
    },
  };
}

/** In milliseconds. Servers close idle connections after some seconds, so an older one is replaced before. */
const MAX_IDLE = 2000;

interface OriginConnection {
  ask(text: string): Promise<HttpResponse>;
  isClosed(): boolean;
  close(): void;
}

interface PendingResponse {
  resolve(response: HttpResponse): void;
  reject(error: Error): void;
}

function openConnection(origin: string): OriginConnection {
  const { hostname, port } = new URL(origin);
  const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let waiting: PendingResponse | undefined;
  let received = '';
  let isClosed = false;
  let lastUsed = performance.now();
  const fail = (error: Error) => {
    isClosed = true;
    waiting?.reject(error);
    waiting = undefined;
  };
  // One character per byte, so that string lengths are byte lengths.
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    received = received === '' ? chunk : received + chunk;
    const read = parseResponse(received);
    if (!read) return;
    received = '';
    if (/\r\nconnection: close/i.test(read.head)) isClosed = true;
    const { resolve } = waiting ?? { resolve: () => {} };
    waiting = undefined;
    resolve(read);
  });
  const close = (error?: NodeJS.ErrnoException) => {
    const isClosedByServer = error === undefined || error.code === 'ECONNRESET' || error.code === 'EPIPE';
    const message = isClosedByServer ? `${origin} closed the connection` : error.message;
    fail(isClosedByServer && received === '' ? new ConnectionClosed(message) : new Error(message));
  };
  socket.on('error', close);
  socket.on('close', () => close());
  return {
    ask: (text) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        lastUsed = performance.now();
        socket.write(text, 'latin1');
      }),
    isClosed: () => isClosed || performance.now() - lastUsed > MAX_IDLE,
    close: () => socket.destroy(),
  };
}

const HAS_LENGTH = /\r\ncontent-length: *(\d+)/i;
const IS_CHUNKED = /\r\ntransfer-encoding: *chunked/i;

/** Undefined while the response is incomplete. Supports what these servers send: a length, chunks, or no body. */
export function parseResponse(text: string): HttpResponse | undefined {
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
  for (let index = start; ; ) {
    const line = text.indexOf('\r\n', index);
    if (line === -1) return undefined;
    const size = Number.parseInt(text.slice(index, line), 16);
    const next = line + 2 + size + 2;
    if (text.length < next) return undefined;
    if (size === 0) return body;
    body += text.slice(line + 2, line + 2 + size);
    index = next;
  }
}

export function headerOf({ head }: HttpResponse, name: string): string | undefined {
  return new RegExp(`\\r\\n${name}: *([^\\r]*)`, 'i').exec(head)?.[1];
}
