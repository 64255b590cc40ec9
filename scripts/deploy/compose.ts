import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newSecret } from '../../src/lib/secrets.ts';
import { interpolateCompose, readCompose, type Service } from '../../test/deploy/compose.ts';
import { freePort } from '../../test/support/ports.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { type Running, start, waitFor } from './processes.ts';
import { ACCOUNTS_HOST, API_HOST, checkProxy, HttpsClient } from './proxied.ts';
import { CannotRun, findTool, ROOT, run } from './tools.ts';

const MAIN = join(ROOT, 'src/cli/main.js');

const VARIABLES = { API_HOST, ACCOUNTS_HOST, TLS: 'internal' };

/** Docker Compose's own loader: the schema, and whether the parts of the file agree. */
export async function loadCompose(): Promise<string> {
  const loader = await findTool('cmd');
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-compose-'));
  try {
    writeFileSync(join(folder, 'compose.yaml'), interpolateCompose(VARIABLES));
    const model = JSON.parse(await run(loader, ['--format', 'json', 'compose.yaml'], { cwd: folder }));
    return `Docker Compose's loader reads ${Object.keys(model.services).length} services`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The services of the Compose file as processes on loopback addresses: two nodes, PostgreSQL and Caddy with its own authority. */
export async function checkCompose(): Promise<string> {
  if (process.platform !== 'linux') throw new CannotRun('it needs the loopback addresses of Linux');
  const caddy = await findTool('caddy');
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-compose-'));
  const postgres = await startPostgres();
  const running: Running[] = [];
  try {
    const stack = new Stack(folder, await freePorts());
    stack.writeSecrets(postgres.url);
    await run(process.execPath, [MAIN, 'migrate'], { env: stack.environment('migrate') });
    const nodes = { node1: await stack.startNode('node1'), node2: await stack.startNode('node2') };
    running.push(...Object.values(nodes));
    await checkCaddyfile(caddy);
    const proxy = start(
      caddy,
      ['run', '--adapter', 'caddyfile', '--config', stack.writeCaddyfile()],
      stack.caddyEnvironment(),
    );
    running.push(proxy);
    const client = await waitFor('TLS', async () => stack.client(), proxy.ended);
    await waitFor('TLS', () => client.get(ACCOUNTS_HOST, '/sign-in'), proxy.ended);
    const restart = async (name: string) => running.push(await stack.startNode(name));
    const count = await checkProxy({ client, nodes, restart, postgres });
    return `two nodes, PostgreSQL and Caddy with TLS ${count}`;
  } finally {
    await Promise.all(running.map((each) => each.stop()));
    await postgres.remove();
    rmSync(folder, { recursive: true });
  }
}

async function checkCaddyfile(caddy: string): Promise<void> {
  const file = join(ROOT, 'deploy/caddy/Caddyfile');
  const env = { ...process.env, API_HOST, ACCOUNTS_HOST, TLS: 'you@example.com' };
  await run(caddy, ['fmt', '--diff', file]);
  await run(caddy, ['validate', '--adapter', 'caddyfile', '--config', file], { env });
}

interface Ports {
  api: number;
  web: number;
  metrics: number;
  tls: number;
}

async function freePorts(): Promise<Ports> {
  return { api: await freePort(), web: await freePort(), metrics: await freePort(), tls: await freePort() };
}

const ADDRESSES: Record<string, string> = { node1: '127.0.0.2', node2: '127.0.0.3' };

class Stack {
  readonly #services: Record<string, Service>;
  readonly #folder: string;
  readonly #ports: Ports;

  constructor(folder: string, ports: Ports) {
    this.#services = readCompose(VARIABLES).services;
    this.#folder = folder;
    this.#ports = ports;
  }

  writeSecrets(databaseUrl: string): void {
    mkdirSync(join(this.#folder, 'secrets'), { mode: 0o700 });
    writeFileSync(join(this.#folder, 'secrets/secret_keys'), newSecret(), { mode: 0o600 });
    writeFileSync(join(this.#folder, 'secrets/database_url'), databaseUrl, { mode: 0o600 });
  }

  /** The variables of a service, with its secrets and addresses on this machine. */
  environment(service: string): NodeJS.ProcessEnv {
    const { api, web, metrics } = this.#ports;
    const own = Object.entries(this.#services[service]?.environment ?? {}).map(([name, value]) => [
      name,
      value.replace('/run/secrets', join(this.#folder, 'secrets')),
    ]);
    const host = ADDRESSES[service];
    const addresses = host && {
      LISTEN: `${host}:${api}`,
      CONSENT_LISTEN: `${host}:${web}`,
      METRICS_LISTEN: `${host}:${metrics}`,
      TRUST_PROXY: '127.0.0.1',
    };
    // The requests of the check have a wrong secret.
    const limits = { LIMIT_WRONG_SECRETS: '1000000' };
    return { PATH: process.env.PATH, LOG_LEVEL: 'warn', ...limits, ...Object.fromEntries(own), ...addresses };
  }

  /** Resolves when its health check succeeds. */
  async startNode(name: string): Promise<Running> {
    const { command = [], healthcheck } = this.#services[name] ?? {};
    const env = this.environment(name);
    const node = start(process.execPath, [MAIN, ...command], env);
    const check = healthcheck?.test?.slice(3) ?? [];
    await waitFor(`${name} was ready`, () => run(process.execPath, [MAIN, ...check], { env }), node.ended);
    return node;
  }

  writeCaddyfile(): string {
    const { api, web, tls } = this.#ports;
    const file = join(this.#folder, 'Caddyfile');
    const text = readFileSync(join(ROOT, 'deploy/caddy/Caddyfile'), 'utf8')
      .replace('admin off', `admin off\n\thttps_port ${tls}\n\tauto_https disable_redirects\n\tskip_install_trust`)
      .replace('health_port 4000', `health_port ${api}`)
      .replaceAll(/(node\d):(\d+)/g, (_, node, port) => `${ADDRESSES[node]}:${port === '4000' ? api : web}`);
    writeFileSync(file, text);
    return file;
  }

  caddyEnvironment(): NodeJS.ProcessEnv {
    return {
      ...this.#services.caddy?.environment,
      HOME: this.#folder,
      XDG_DATA_HOME: this.#folder,
      PATH: process.env.PATH,
    };
  }

  client(): HttpsClient {
    const ca = readFileSync(join(this.#folder, 'caddy/pki/authorities/local/root.crt'));
    return new HttpsClient({ port: this.#ports.tls, ca });
  }
}
