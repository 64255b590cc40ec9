import { createCache } from './cache.ts';
import { type Connection, send } from './connection.ts';
import { isScope } from './options.ts';

/** RFC 8414. */
const METADATA = '/.well-known/oauth-authorization-server';

/** A scope may be added to Gatehouse while the API runs. In milliseconds. */
const RELOAD_AFTER = 60_000;

/** Says which of these scopes Gatehouse does not have, and which it has. Undefined if it has them all, or if that cannot be known now. */
export type FindUnknown = (scopes: readonly string[]) => Promise<string | undefined>;

export function createScopeCheck(connection: Connection, clock: () => number): FindUnknown {
  const cache = createCache<readonly string[] | undefined>(1, clock);
  return async (required) => {
    const load = async () => ({ value: await loadScopes(connection), until: clock() + RELOAD_AFTER });
    const existing = await cache.get(METADATA, load);
    const unknown = existing && required.filter((scope) => !existing.includes(scope));
    if (!unknown || unknown.length === 0) return undefined;
    return `${connection.issuer} does not have the scope ${unknown.join(', ')}. It has: ${existing.join(', ')}.`;
  };
}

async function loadScopes(connection: Connection): Promise<readonly string[] | undefined> {
  try {
    const { status, json } = await send(connection, METADATA, { headers: { accept: 'application/json' } });
    const { scopes_supported: scopes } = json;
    if (status === 200 && Array.isArray(scopes) && scopes.every(isScope)) return scopes;
    throw new Error(`The metadata lists no scopes (status ${status}).`);
  } catch (error) {
    connection.onError(new Error(`The scopes are not checked. ${(error as Error).message}`));
    return undefined;
  }
}
