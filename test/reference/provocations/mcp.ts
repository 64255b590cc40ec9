import type { TestServer } from '../../support/test-server.ts';
import { type Provocation, provocationsOf, send } from './provocation.ts';

/** test/http/mcp covers its other errors. */
export function mcpProvocations(server: TestServer): Provocation[] {
  const headers = { origin: 'https://elsewhere.example.com', 'content-type': 'application/json' };
  const sendMessage = () => send(`${server.api}/mcp`, { method: 'POST', headers, body: '{}' });
  return provocationsOf('mcp', [[403, 'origin_not_allowed', 'a page of another origin', sendMessage]]);
}
