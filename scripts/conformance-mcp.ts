// `npm run conformance:mcp`: runs the public conformance suite of the Model Context Protocol against a server of its own, and
// writes docs/reference/mcp-conformance.md. Downloads the suite. Fails if a scenario fails that applies to this server.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { decide } from '../test/sdk/clients/visitor.ts';
import { connectTo } from '../test/support/mcp.ts';
import { freePort } from '../test/support/ports.ts';
import { startTestServer } from '../test/support/test-server.ts';
import { type Outcome, readOutcomes } from './conformance/outcomes.ts';
import { renderPage } from './conformance/page.ts';

const PAGE = fileURLToPath(new URL('../docs/reference/mcp-conformance.md', import.meta.url));
/** 0.1.16, the latest that is not an alpha, has no `authorization` command and does not know the revision 2026-07-28. */
const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const REVISIONS = ['2026-07-28', '2025-11-25'];

const proxyPort = await freePort();
const proxyUrl = `http://localhost:${proxyPort}`;
const server = await startTestServer({ MCP_ALLOWED_ORIGINS: proxyUrl });
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-conformance-'));
const results = new Map<string, Outcome[]>();
results.set('authorization', await testAuthorization());
await startProxy(await connectTo(server, '/mcp'));
for (const revision of REVISIONS) results.set(revision, await testServer(revision));
writeFileSync(PAGE, renderPage(SUITE, results));
rmSync(folder, { recursive: true });

const outcomes = [...results.values()].flat();
const problems = outcomes.flatMap(({ scenario, problems }) => problems.map((problem) => `${scenario}: ${problem}`));
for (const problem of problems) console.error(problem);
console.log(`${outcomes.length} scenarios, ${problems.length} problems. See docs/reference/mcp-conformance.md.`);
const isComplete = [...results.values()].every(({ length }) => length > 0);
process.exit(problems.length === 0 && isComplete ? 0 : 1);

/** The suite prints the URL that a person has to open. */
async function testAuthorization(): Promise<Outcome[]> {
  const port = await freePort();
  const registration = { name: 'Conformance', redirectUris: [`http://127.0.0.1:${port}/callback`], isPublic: true };
  const { id } = await server.addApp({ ...registration, ownerBusinessId: server.acme.id });
  const target = ['--url', server.api, '--client-id', id, '--resource', `${server.api}/mcp`, '--port', String(port)];
  const output = join(folder, 'authorization');
  const child = startSuite(['authorization', ...target, '--output-dir', output], 'pipe');
  const ended = once(child, 'close');
  if (child.stdout) {
    for await (const line of createInterface(child.stdout)) {
      if (line.startsWith(`${server.api}/api/v1/oauth/authorize?`)) await fetch(await decide(server, line));
    }
  }
  await ended;
  return readOutcomes(output);
}

/** Exactly the scenarios that the revision requires, and those of its extensions. */
async function testServer(revision: string): Promise<Outcome[]> {
  const output = join(folder, revision);
  const target = ['--url', `${proxyUrl}/mcp`, '--requirements', revision];
  await once(startSuite(['server', ...target, '--output-dir', output], 'ignore'), 'close');
  return readOutcomes(output);
}

function startSuite(args: string[], stdout: 'pipe' | 'ignore'): ChildProcess {
  return spawn('npx', ['--yes', SUITE, ...args], { stdio: ['ignore', stdout, 'inherit'] });
}

/** The suite cannot send a token, so a proxy adds one. */
async function startProxy(token: string): Promise<void> {
  const { hostname, port } = new URL(server.api);
  const proxy = createServer((incoming, response) => {
    const { url: path, method } = incoming;
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
    const passed = request({ hostname, port, path, method, headers }, (received) => {
      response.writeHead(received.statusCode ?? 502, received.headers);
      received.pipe(response);
    });
    incoming.pipe(passed);
  });
  proxy.listen(proxyPort, 'localhost');
  await once(proxy, 'listening');
}
