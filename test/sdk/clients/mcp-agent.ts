import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import * as current from '@modelcontextprotocol/client';
import {
  type OAuthClientProvider as FormerProvider,
  UnauthorizedError as FormerUnauthorized,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as FormerClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FormerTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { rememberSecret } from '../../support/leaks.ts';
import type { TestServer } from '../../support/test-server.ts';
import { decide } from './visitor.ts';

export const CALLBACK = 'http://127.0.0.1:33418/callback';

/** The stored state of an assistant. Ada is its user, and submits `decision` on the consent screen. */
export class Agent implements current.OAuthClientProvider {
  readonly redirectUrl: string = CALLBACK;
  readonly clientMetadata: current.OAuthClientMetadata = {
    client_name: 'Assistant',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  clientMetadataUrl?: string;
  decision: 'allow' | 'deny' = 'allow';
  /** The authorize URLs that the client has sent the user to. */
  readonly authorizeUrls: URL[] = [];
  /** The last redirect back to the client. */
  response: URLSearchParams | undefined;
  client: current.StoredOAuthClientInformation | undefined;
  pair: current.StoredOAuthTokens | undefined;
  readonly #server: TestServer;
  #verifier = '';
  #discovered: current.OAuthDiscoveryState | undefined;

  constructor(server: TestServer, name = 'Assistant') {
    this.#server = server;
    this.clientMetadata.client_name = name;
  }

  state = () => randomUUID();
  clientInformation = () => this.client;
  tokens = () => this.pair;
  codeVerifier = () => this.#verifier;
  discoveryState = () => this.#discovered;

  saveClientInformation(client: current.StoredOAuthClientInformation): void {
    this.client = client;
  }

  saveTokens(pair: current.StoredOAuthTokens): void {
    rememberSecret('access token', pair.access_token);
    rememberSecret('refresh token', pair.refresh_token);
    this.pair = pair;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  saveDiscoveryState(discovered: current.OAuthDiscoveryState): void {
    this.#discovered = discovered;
  }

  invalidateCredentials(what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if (what === 'all' || what === 'client') this.client = undefined;
    if (what === 'all' || what === 'tokens') this.pair = undefined;
    if (what === 'all' || what === 'discovery') this.#discovered = undefined;
  }

  async redirectToAuthorization(address: URL): Promise<void> {
    this.authorizeUrls.push(address);
    this.response = (await decide(this.#server, address, this.decision)).searchParams;
  }
}

/** The parts of a client library that an application calls. */
interface Parts {
  connect(): Promise<void>;
  finishAuth(): Promise<void>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  close(): Promise<void>;
}

export interface Kit {
  name: string;
  create(agent: Agent, url: string): Parts;
}

const INFO = { name: 'agent', version: '1.0.0' };

export const KITS: Kit[] = [
  { name: '@modelcontextprotocol/client', create: (agent, url) => createCurrent(agent, url, 'auto') },
  {
    name: '@modelcontextprotocol/client with revision 2025-11-25',
    create: (agent, url) => createCurrent(agent, url, 'legacy'),
  },
  { name: '@modelcontextprotocol/sdk', create: createFormer },
];

function createCurrent(agent: Agent, url: string, mode: 'auto' | 'legacy'): Parts {
  const client = new current.Client(INFO, { versionNegotiation: { mode } });
  const transport = new current.StreamableHTTPClientTransport(new URL(url), { authProvider: agent });
  return {
    connect: () => client.connect(transport),
    finishAuth: () => transport.finishAuth(agent.response ?? new URLSearchParams()),
    callTool: (call) => client.callTool(call),
    listTools: () => client.listTools(),
    close: () => client.close(),
  };
}

function createFormer(agent: Agent, url: string): Parts {
  const client = new FormerClient(INFO);
  const transport = new FormerTransport(new URL(url), { authProvider: agent as FormerProvider });
  return {
    connect: () => client.connect(transport as Parameters<typeof client.connect>[0]),
    finishAuth: () => transport.finishAuth(agent.response?.get('code') ?? ''),
    callTool: (call) => client.callTool(call),
    listTools: () => client.listTools(),
    close: () => client.close(),
  };
}

export type Connection = Awaited<ReturnType<typeof connectAgent>>;

/** Connects as an application does: without tokens, the first attempt ends at the authorize URL. */
export async function connectAgent({ create }: Kit, agent: Agent, url: string) {
  const first = create(agent, url);
  const isConnected = await succeeds(first.connect());
  if (!isConnected) await first.finishAuth();
  const parts = isConnected ? first : create(agent, url);
  if (!isConnected) await parts.connect();
  const { listTools, close } = parts;
  return {
    /** A call that asks the user for more is repeated with the new token. */
    async call(name: string, args: Record<string, unknown> = {}) {
      let result: unknown;
      const call = async () => {
        result = await parts.callTool({ name, arguments: args });
      };
      if (!(await succeeds(call()))) {
        await parts.finishAuth();
        await call();
      }
      const { isError, structuredContent, content } = result as current.CallToolResult;
      assert.ok(!isError, JSON.stringify(content));
      // biome-ignore lint/suspicious/noExplicitAny: tests read any field, and assert its value.
      return structuredContent as any;
    },
    listTools,
    close,
  };
}

/** False if the client has sent the user to the authorize URL. */
async function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  try {
    await attempt;
    return true;
  } catch (error) {
    if (error instanceof current.UnauthorizedError || error instanceof FormerUnauthorized) return false;
    throw error;
  }
}
