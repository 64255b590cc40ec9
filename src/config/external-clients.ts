import type { ExternalBounds } from '../grants/external-connections.ts';
import { type Environment, readList, readNumber, readOneOf } from './values.ts';

/** Clients that are not registered here, at the MCP server. */
export interface ExternalClientSettings {
  /** The hosts whose metadata documents are accepted as `client_id`. */
  documentHosts: 'any' | string[];
  /** Whether clients may register themselves. */
  acceptsRegistrations: boolean;
  /** Schemes of redirect URIs that open an app (RFC 8252 §7.1), for clients without a secret. */
  privateSchemes: string[];
  bounds: ExternalBounds;
}

/** Browsers and operating systems give these schemes a meaning that no app can have. */
const RESERVED_SCHEME =
  /^(?:https?|wss?|ftp|file|filesystem|data|blob|about|javascript|vbscript|mailto|tel|sms|intent|content|view-source|chrome|ms-.*)$/;

/** External clients are for the MCP server only: without it, none is accepted. */
export function readExternalClients(env: Environment, { servesMcp }: { servesMcp: boolean }): ExternalClientSettings {
  const documentHosts = readDocumentHosts(env);
  const acceptsRegistrations = readOneOf(env, 'DYNAMIC_REGISTRATION', 'off', ['on', 'off']) === 'on';
  const privateSchemes = readPrivateSchemes(env);
  const bounds = {
    user: readBound(env, 'MAX_EXTERNAL_APPS_PER_USER', 100),
    business: readBound(env, 'MAX_EXTERNAL_APPS_PER_BUSINESS', 1000),
  };
  if (!servesMcp) return { documentHosts: [], acceptsRegistrations: false, privateSchemes, bounds };
  return { documentHosts, acceptsRegistrations, privateSchemes, bounds };
}

/** Each Allow counts up to it. */
function readBound(env: Environment, name: string, fallback: number): number {
  return readNumber(env, name, fallback, { min: 1, max: 10_000 });
}

export function readPrivateSchemes(env: Environment): string[] {
  const isScheme = (text: string) => /^[a-z][a-z0-9+.-]*$/.test(text) && !RESERVED_SCHEME.test(text);
  return readList(env, 'PRIVATE_REDIRECT_SCHEMES', 'schemes of apps like cursor', isScheme);
}

function readDocumentHosts(env: Environment): ExternalClientSettings['documentHosts'] {
  const text = env.CLIENT_ID_METADATA || 'on';
  if (text === 'on') return 'any';
  if (text === 'off') return [];
  const isHost = (host: string) => /^[a-z\d-]+(?:\.[a-z\d-]+)+$/.test(host);
  return readList(env, 'CLIENT_ID_METADATA', 'on, off, or host names like claude.ai', isHost);
}
