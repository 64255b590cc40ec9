import { connect, type Socket } from 'node:net';

/** The bytes of a request, and what to expect. */
export interface Sent {
  bytes: Buffer;
  /** Whether the response has no body, whatever its headers say. */
  isHead: boolean;
  /** Whether it is not one complete request: then the connection may end without a response, and is not reused. */
  isTorn: boolean;
}

export interface ParsedResponse {
  status: number;
  headers: [name: string, value: string][];
  body: string;
}

/** Undefined: the connection ended without a response; 'hang': neither a response nor an end. */
export type Outcome = ParsedResponse | undefined | 'hang';

export type Connection = ReturnType<typeof newConnection>;

/** One keep-alive connection to one port, without pipelining. */
export function newConnection(port: number, timeout: number) {
  let kept: Socket | undefined;

  async function send(sent: Sent): Promise<Outcome> {
    const isFresh = kept === undefined;
    const outcome = await sendOnce(sent);
    // A host may close an idle connection just when it is used again.
    return outcome === undefined && !isFresh && !sent.isTorn ? sendOnce(sent) : outcome;
  }

  async function sendOnce(sent: Sent): Promise<Outcome> {
    const socket = kept ?? (await open(port));
    kept = undefined;
    const outcome = await exchange(socket, sent, timeout);
    const stays = typeof outcome === 'object' && !sent.isTorn && !endsConnection(outcome);
    if (stays && !socket.destroyed && socket.readable) kept = socket;
    else socket.destroy();
    return outcome;
  }

  return { send, close: () => kept?.destroy() };
}

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  socket.on('error', () => {});
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return socket;
}

function endsConnection({ headers }: ParsedResponse): boolean {
  return headers.some(([name, value]) => name === 'connection' && value === 'close');
}

function exchange(socket: Socket, { bytes, isHead, isTorn }: Sent, timeout: number): Promise<Outcome> {
  return new Promise((resolve) => {
    let received: Buffer = Buffer.alloc(0);
    const finish = (outcome: Outcome) => {
      clearTimeout(timer);
      socket.removeAllListeners('data').removeAllListeners('end').removeAllListeners('close');
      resolve(outcome);
    };
    const timer = setTimeout(() => finish('hang'), timeout);
    const check = (isOver: boolean) => {
      const response = parseResponse(received, { isHead, isOver });
      if (response) finish(response);
      else if (isOver) finish(undefined);
    };
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      check(false);
    });
    socket.on('end', () => check(true)).on('close', () => check(true));
    socket.write(bytes);
    if (isTorn) socket.end();
  });
}

/** Undefined while it is incomplete. */
function parseResponse(
  received: Buffer,
  { isHead, isOver }: { isHead: boolean; isOver: boolean },
): ParsedResponse | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [first = '', ...lines] = received.toString('latin1', 0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1] ?? 0);
  const rest = received.subarray(end + 4);
  if (status >= 100 && status < 200) return parseResponse(rest, { isHead, isOver });
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  const body = isHead || status === 204 || status === 304 ? '' : readBody(rest, new Map(headers), isOver);
  return body === undefined ? undefined : { status, headers, body };
}

function readBody(rest: Buffer, headers: Map<string, string>, isOver: boolean): string | undefined {
  if (headers.get('transfer-encoding') === 'chunked') return readChunks(rest);
  const length = headers.get('content-length');
  if (length === undefined) return isOver ? rest.toString() : undefined;
  return rest.length < Number(length) ? undefined : rest.toString('utf8', 0, Number(length));
}

function readChunks(rest: Buffer): string | undefined {
  const chunks: Buffer[] = [];
  for (let offset = 0; ; ) {
    const line = rest.indexOf('\r\n', offset);
    if (line === -1) return undefined;
    const size = Number.parseInt(rest.toString('latin1', offset, line), 16);
    if (rest.length < line + 2 + size + 2) return undefined;
    if (size === 0) return Buffer.concat(chunks).toString();
    chunks.push(rest.subarray(line + 2, line + 2 + size));
    offset = line + 2 + size + 2;
  }
}
