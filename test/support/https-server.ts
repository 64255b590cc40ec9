import { freePort } from './ports.ts';
import { startTestServer } from './test-server.ts';

/** A server whose public addresses are https, as behind a proxy. Returns the ports on which it listens. */
export async function startUnderHttps(settings: Record<string, string> = {}): Promise<{ api: number; web: number }> {
  const [api, web] = [await freePort(), await freePort()];
  await startTestServer({
    BASE_URL: 'https://auth.gatehouse.example',
    CONSENT_URL: 'https://login.gatehouse.example',
    LISTEN: `127.0.0.1:${api}`,
    CONSENT_LISTEN: `127.0.0.1:${web}`,
    ...settings,
  });
  return { api, web };
}
