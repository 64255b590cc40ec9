import { connect, type Socket } from 'node:net';

/** The parts of a response that a measurement needs. */
export interface Response {
  status: number;
  body: string;
}

export type Connection = ReturnType<typeof createConnection>;

/** One connection with one request at a time, with as little work as possible: the load generator shares the machine with the server. */
export function createConnection(port: number) {
  let socket: Socket | undefined;
  let received = '';
  let settle: ((response: Response) => void) | undefined;

  function open(): Socket {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1');
    opened.on('data', (chunk) => {
      received += chunk;
      const response = read(received);
      if (response) finish(response);
    });
    // Status 0: there was no response.
    opened
      .on('error', () => {})
      .on('close', () => {
        if (socket === opened) socket = undefined;
        finish({ status: 0, body: '' });
      });
    return opened;
  }

  function finish(response: Response): void {
    received = '';
    settle?.(response);
    settle = undefined;
  }

  return {
    send(bytes: string): Promise<Response> {
      socket ??= open();
      const sent = socket;
      return new Promise((resolve) => {
        settle = resolve;
        sent.write(bytes, 'latin1');
      });
    },
    close: () => socket?.destroy(),
  };
}

function read(received: string): Response | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const length = Number(/content-length: (\d+)/.exec(received)?.[1] ?? 0);
  const body = received.slice(end + 4);
  return body.length < length ? undefined : { status: Number(received.slice(9, 12)), body };
}
