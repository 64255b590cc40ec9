import { connect, type Socket } from 'node:net';

/** An answer, as far as a measurement needs it. */
export interface Answer {
  status: number;
  body: string;
}

export type Caller = ReturnType<typeof newCaller>;

/** One connection with one request at a time, with as little work as can be: what it costs is taken from the server. */
export function newCaller(port: number) {
  let socket: Socket | undefined;
  let received = '';
  let settle: ((answer: Answer) => void) | undefined;

  function open(): Socket {
    const opened = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1');
    opened.on('data', (chunk) => {
      received += chunk;
      const answer = read(received);
      if (answer) finish(answer);
    });
    // Status 0 is no answer at all.
    opened
      .on('error', () => {})
      .on('close', () => {
        if (socket === opened) socket = undefined;
        finish({ status: 0, body: '' });
      });
    return opened;
  }

  function finish(answer: Answer): void {
    received = '';
    settle?.(answer);
    settle = undefined;
  }

  return {
    call(bytes: string): Promise<Answer> {
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

function read(received: string): Answer | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const length = Number(/content-length: (\d+)/.exec(received)?.[1] ?? 0);
  const body = received.slice(end + 4);
  return body.length < length ? undefined : { status: Number(received.slice(9, 12)), body };
}
