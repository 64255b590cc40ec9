import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { openStorage } from '../../src/storage/open.ts';
import { createBrowser } from './browser.ts';
import { createClient } from './client.ts';
import { withLongConnectTimeout } from './databases.ts';
import { createFixtures } from './fixtures.ts';
import { CHILD_LOG_LEVEL, openChildLog, rememberSecret } from './leaks.ts';
import { freePort } from './ports.ts';
import { PROGRAM } from './program.ts';
import { isReady } from './ready.ts';

/** One node: the real `serve` in a child process. */
export interface Node {
  api: string;
  web: string;
  process: ChildProcess | undefined;
  start(): Promise<void>;
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts several nodes on one database. The public address is that of the first node. */
export async function startNodes(count: number, databaseUrl: string, env: Record<string, string> = {}) {
  const [baseUrl, consentUrl] = [`http://127.0.0.1:${await freePort()}`, `http://localhost:${await freePort()}`];
  const shared = {
    BASE_URL: baseUrl,
    CONSENT_URL: consentUrl,
    DATABASE_URL: withLongConnectTimeout(databaseUrl),
    SECRET_KEYS: 'the-key-that-all-of-these-nodes-sign-with',
    LOG_LEVEL: CHILD_LOG_LEVEL,
    LIMIT_PER_USER: '1000000',
    LIMIT_CHANGES_PER_USER: '1000000',
    ...env,
  };
  rememberSecret('key', shared.SECRET_KEYS);
  const nodes: Node[] = [];
  for (let i = 0; i < count; i++) {
    const port = i === 0 ? new URL(baseUrl).port : String(await freePort());
    const webPort = i === 0 ? new URL(consentUrl).port : String(await freePort());
    nodes.push(
      createNode(`http://127.0.0.1:${port}`, `http://localhost:${webPort}`, {
        ...shared,
        LISTEN: port,
        CONSENT_LISTEN: webPort,
      }),
    );
  }
  const storage = await openStorage(shared.DATABASE_URL);
  after(async () => {
    await Promise.all(nodes.map((node) => node.stop('SIGKILL')));
    await storage.close();
  });
  await Promise.all(nodes.map((node) => node.start()));
  const fixtures = await createFixtures(() => storage, Date.now);
  const browse = () => createBrowser(consentUrl, [baseUrl, consentUrl]);
  const clientOf = (node: Node) =>
    createClient({ api: node.api, browse, user: fixtures.ada, app: fixtures.ledger, business: fixtures.acme });
  return { nodes, storage, ...fixtures, clients: nodes.map(clientOf) };
}

function createNode(api: string, web: string, env: Record<string, string>): Node {
  const node: Node = {
    api,
    web,
    process: undefined,
    async start() {
      node.process = spawn(process.execPath, [PROGRAM, 'serve'], {
        env,
        stdio: ['ignore', openChildLog(), 'inherit'],
      });
      while (!(await isReady(`${api}/readyz`))) {
        if (node.process.exitCode !== null) throw new Error(`a node ended with ${node.process.exitCode}`);
        await setTimeout(50);
      }
    },
    async stop(signal) {
      if (!node.process) return null;
      const { exitCode, signalCode } = node.process;
      if (exitCode !== null || signalCode !== null) return exitCode;
      const ended = once(node.process, 'exit');
      node.process.kill(signal);
      const [code] = await ended;
      return code;
    },
  };
  return node;
}
