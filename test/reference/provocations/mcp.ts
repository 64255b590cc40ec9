import type { TestServer } from '../../support/test-server.ts';
import { type Provocation, provocationsOf, send } from './provocation.ts';

/** The rest of what it refuses is in test/http/mcp. */
export function mcpProvocations(server: TestServer): Provocation[] {
  const headers = { origin: 'https://elsewhere.example.com', 'content-type': 'application/json' };
  const ask = () => send(`${server.api}/mcp`, { method: 'POST', headers, body: '{}' });
  return provocationsOf('mcp', [[403, 'origin_not_allowed', 'a page of another origin', ask]]);
}
