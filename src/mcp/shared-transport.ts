import {
  type AuthInfo,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type MessageExtraInfo,
  PerRequestHTTPServerTransport,
  type Server,
  type Transport,
} from '@modelcontextprotocol/server';
import type { ToolResult } from './calls.ts';

/** Serves one request, whose shape has been checked, and returns the response as JSON. */
export type Exchange = (request: JSONRPCRequest, authInfo: AuthInfo) => Promise<string>;

/** A server that is connected to the package’s own kind of transport serves the stateless revision. */
export function connectModern(server: Server, revision: string): Promise<Exchange> {
  const classification = { era: 'modern', revision } as const;
  const transport = new PerRequestHTTPServerTransport({ classification });
  return connect(server, Object.assign(transport, { start: nothing }), { classification });
}

export function connectLegacy(server: Server): Promise<Exchange> {
  return connect(server, { start: nothing, close: nothing, send: nothing }, {});
}

/** The transport serves any number of requests at the same time: each has an id of its own while it runs. */
async function connect(server: Server, transport: Transport, extra: MessageExtraInfo): Promise<Exchange> {
  const waiting = new Map<number, (response: JSONRPCMessage) => void>();
  let lastId = 0;
  transport.send = async (message) => {
    if ('method' in message) return;
    const id = Number(message.id);
    waiting.get(id)?.(message);
    waiting.delete(id);
  };
  await server.connect(transport);
  return (request, authInfo) =>
    new Promise((resolve) => {
      lastId += 1;
      waiting.set(lastId, (response) => resolve(serialize(response, request)));
      transport.onmessage?.({ ...request, id: lastId }, { ...extra, authInfo });
    });
}

async function nothing(): Promise<void> {}

const START = '{"result":{';

/** The text of a result is the JSON of its structured content, which is not serialized again. */
function serialize(response: JSONRPCMessage, { id }: JSONRPCRequest): string {
  if (!('result' in response)) return JSON.stringify({ ...response, id });
  const { structuredContent, ...result } = response.result as ToolResult;
  const text = JSON.stringify({ result, jsonrpc: '2.0', id });
  const [content] = result.content;
  if (structuredContent === undefined || !content) return text;
  return `${START}"structuredContent":${content.text},${text.slice(START.length)}`;
}
