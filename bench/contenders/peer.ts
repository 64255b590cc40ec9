import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/ports.ts';
import { type Child, startChild } from '../process.ts';
import { REDIRECT_URI, SCOPE } from '../seed.ts';

/** The app that is registered at every peer. */
export const CLIENT = { id: 'ledger', secret: 'a-secret-of-the-app-that-is-long-enough-for-everyone' };

interface StartedPeer extends Child {
  origin: string;
}

/** Starts a server of bench/peers. */
export async function startPeer(name: string, settings: Record<string, string> = {}): Promise<StartedPeer> {
  const file = fileURLToPath(new URL(`../peers/${name}.ts`, import.meta.url));
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const env = {
    PORT: String(port),
    CLIENT_ID: CLIENT.id,
    CLIENT_SECRET: CLIENT.secret,
    REDIRECT_URI,
    SCOPE,
    ...settings,
  };
  return { ...(await startChild([file], env, `${origin}/readyz`)), origin };
}
