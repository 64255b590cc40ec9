import { connect } from 'node:net';

/** A response to malformed HTTP, read until the connection ends. */
export interface RawResponse {
  status: number;
  headers: Headers;
  text: string;
}

/** Writes raw bytes to a host. The request has to close the connection itself. */
export function write(origin: string, bytes: string): Promise<RawResponse> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (chunk) => {
      received += chunk;
    });
    socket.setTimeout(5000, () => socket.destroy(new Error('the host neither responds nor closes the connection')));
    socket.on('error', (error) => (received === '' ? reject(error) : undefined));
    socket.on('close', () => resolve(read(received)));
  });
}

function read(received: string): RawResponse {
  const [head = '', ...rest] = received.split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]);
  return { status: Number(first.split(' ')[1] ?? 0), headers: new Headers(headers), text: rest.join('\r\n\r\n') };
}
