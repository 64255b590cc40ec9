import { connect, createServer, type Socket } from 'node:net';
import { after } from 'node:test';
import { parseMessages } from './round-trips.ts';

/** The messages of clients to PostgreSQL. */
interface Recorded {
  /** The parameters of startup packets. */
  startups: Map<string, string>[];
  /** The distinct texts. */
  statements: Set<string>;
  /** The names of prepared statements, except the unnamed one. */
  names: Set<string>;
}

/** A proxy in front of PostgreSQL that records statements. */
export async function startStatementRecorder(target: number): Promise<Recorded & { port: number }> {
  const recorded: Recorded = { startups: [], statements: new Set(), names: new Set() };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const postgres = connect(target, '127.0.0.1');
    const inspect = parseMessages('client', (type, body) => record(recorded, type, body));
    client.on('data', inspect);
    client.pipe(postgres).pipe(client);
    for (const socket of [client, postgres]) sockets.add(socket.on('error', () => {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return { ...recorded, port: typeof address === 'object' && address ? address.port : 0 };
}

function record({ startups, statements, names }: Recorded, type: string, body: Buffer): void {
  const [first = '', second = '', ...rest] = body.toString('utf8', type === 'startup' ? 4 : 0).split('\0');
  if (type === 'startup') {
    const parts = [first, second, ...rest];
    const pairs = parts.flatMap((name, index) => (index % 2 === 0 && name ? [[name, parts[index + 1] ?? '']] : []));
    startups.push(new Map(pairs as [string, string][]));
  }
  if (type === 'Q') statements.add(first);
  // Parse: the name, and the text.
  if (type === 'P') {
    statements.add(second);
    if (first !== '') names.add(first);
  }
}
