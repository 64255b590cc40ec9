import { createSocket } from 'node:dgram';
import dns from 'node:dns/promises';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { isIPv4 } from 'node:net';
import { after } from 'node:test';

/** The addresses of a name at its nth query; undefined if it does not exist, null for no response. */
type Responder = (name: string, nth: number) => string[] | undefined | null;

const TYPES = { A: 1, AAAA: 28 };

/** A DNS server that receives every query of this process. */
export async function startDnsServer(responder: Responder = () => undefined) {
  const state = { responder, queries: new Map<string, number>() };
  const server = createSocket('udp4', (query, { address, port }) => {
    const reply = createResponse(state, query);
    if (reply) server.send(reply, port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  const restore = useOnly(`127.0.0.1:${server.address().port}`);
  after(() => {
    restore();
    server.close();
  });
  return {
    /** How often a name has been looked up. */
    queryCount: (name: string) => state.queries.get(`${name} ${TYPES.A}`) ?? 0,
    respondWith(next: Responder) {
      state.responder = next;
      state.queries.clear();
    },
  };
}

function useOnly(server: string): () => void {
  const { Resolver } = dns;
  const use = (resolver: typeof Resolver) => {
    dns.Resolver = resolver;
    syncBuiltinESMExports();
  };
  use(
    class extends Resolver {
      constructor(options?: ConstructorParameters<typeof Resolver>[0]) {
        super(options);
        this.setServers([server]);
      }
    },
  );
  return () => use(Resolver);
}

interface State {
  responder: Responder;
  queries: Map<string, number>;
}

/** RFC 1035 §4.1: a header, the question, and an answer for each address. */
function createResponse({ responder, queries }: State, query: Buffer): Buffer | undefined {
  const labels: string[] = [];
  let offset = 12;
  for (let length = query.readUInt8(offset); length > 0; length = query.readUInt8(offset)) {
    labels.push(query.toString('latin1', offset + 1, offset + 1 + length));
    offset += 1 + length;
  }
  const [name, type] = [labels.join('.').toLowerCase(), query.readUInt16BE(offset + 1)];
  const nth = queries.get(`${name} ${type}`) ?? 0;
  queries.set(`${name} ${type}`, nth + 1);
  const addresses = responder(name, nth);
  if (addresses === null) return undefined;
  const records = (addresses ?? []).filter((address) => (isIPv4(address) ? TYPES.A : TYPES.AAAA) === type).map(toBytes);
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(addresses ? 0x8180 : 0x8183, 2);
  for (const [count, at] of [1, records.length, 0, 0].map((count, i) => [count, 4 + 2 * i] as const)) {
    header.writeUInt16BE(count, at);
  }
  return Buffer.concat([header, query.subarray(12, offset + 5), ...records.map((bytes) => record(type, bytes))]);
}

/** With the name of the question, and a TTL of 0. */
function record(type: number, address: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, address.length]), address]);
}

function toBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
  const [before, behind] = [groups(left), groups(right ?? '')];
  const all = [...before, ...Array<number>(8 - before.length - behind.length).fill(0), ...behind];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}
