import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newSecret } from '../../src/lib/secrets.ts';
import { freePort } from '../../test/support/ports.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { type Running, start, waitFor } from './processes.ts';
import { ACCOUNTS_HOST, API_HOST, checkProxy, HttpsClient } from './proxied.ts';
import { CannotRun, findTool, ROOT, run } from './tools.ts';

const MAIN = join(ROOT, 'src/cli/main.js');
const ADDRESSES: Record<string, string> = { '10.0.0.11': '127.0.0.2', '10.0.0.12': '127.0.0.3' };

interface Files {
  folder: string;
  certificate: string;
  key: string;
}

interface Proxy {
  name: string;
  /** In deploy/. */
  file: string;
  /** The configuration of the proxy with that file, for a user without rights. */
  write(text: string, files: Files): string;
  checkArgs(file: string): string[];
  runArgs(file: string): string[];
}

const NGINX: Proxy = {
  name: 'nginx',
  file: 'deploy/nginx/gatehouse.conf',
  write(text, { folder, certificate, key }) {
    const own = text
      .replace('/etc/ssl/gatehouse/fullchain.pem', certificate)
      .replace('/etc/ssl/gatehouse/privkey.pem', key);
    writeFileSync(join(folder, 'gatehouse.conf'), own);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${join(folder, name)};`,
    );
    const main = `daemon off; pid ${join(folder, 'pid')}; error_log stderr crit; events {}
http { access_log off; ${temporary.join(' ')} include ${join(folder, 'gatehouse.conf')}; }`;
    const file = join(folder, 'nginx.conf');
    writeFileSync(file, main);
    return file;
  },
  checkArgs: (file) => ['-t', '-q', '-c', file],
  runArgs: (file) => ['-c', file],
};

const HAPROXY: Proxy = {
  name: 'haproxy',
  file: 'deploy/haproxy/haproxy.cfg',
  write(text, { folder, certificate, key }) {
    const pem = join(folder, 'both.pem');
    writeFileSync(pem, readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8'));
    const file = join(folder, 'haproxy.cfg');
    const own = text.replace('/etc/haproxy/gatehouse.pem', pem).replaceAll(/^\t(?:chroot|user|group|log) .*\n/gm, '');
    writeFileSync(file, own);
    return file;
  },
  checkArgs: (file) => ['-c', '-q', '-f', file],
  runArgs: (file) => ['-db', '-f', file],
};

export const checkNginx = () => checkConfiguration(NGINX);
export const checkHaproxy = () => checkConfiguration(HAPROXY);

/** Runs a proxy with its file in deploy/, in front of two nodes and PostgreSQL on loopback addresses. */
async function checkConfiguration(proxy: Proxy): Promise<string> {
  if (process.platform !== 'linux') throw new CannotRun('it needs the loopback addresses of Linux');
  const program = await findTool(proxy.name);
  const openssl = await findTool('openssl');
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-proxy-'));
  const postgres = await startPostgres();
  const running: Running[] = [];
  try {
    const files = await createCertificate(openssl, folder);
    const ports = { api: await freePort(), web: await freePort(), tls: await freePort(), plain: await freePort() };
    const text = readFileSync(join(ROOT, proxy.file), 'utf8')
      .replaceAll(
        /^(\s*server .*?)(10\.0\.0\.1[12]):(\d+)/gm,
        (_, before, node, port) => `${before}${ADDRESSES[node]}:${port === '4000' ? ports.api : ports.web}`,
      )
      .replaceAll(/^(\s*(?:listen |bind :))443/gm, `$1${ports.tls}`)
      .replaceAll(/^(\s*(?:listen |bind :))80\b/gm, `$1${ports.plain}`);
    const file = proxy.write(text, files);
    await run(program, proxy.checkArgs(file));
    const secret = newSecret();
    const environment = (host: string) => ({
      PATH: process.env.PATH,
      BASE_URL: `https://${API_HOST}`,
      CONSENT_URL: `https://${ACCOUNTS_HOST}`,
      LISTEN: `${host}:${ports.api}`,
      CONSENT_LISTEN: `${host}:${ports.web}`,
      DATABASE_URL: postgres.url,
      SECRET_KEYS: secret,
      TRUST_PROXY: '127.0.0.1',
      LOG_LEVEL: 'fatal',
      // The requests of the check have a wrong secret.
      LIMIT_WRONG_SECRETS: '1000000',
    });
    const startNode = async (host: string) => {
      const env = environment(host);
      const node = start(process.execPath, [MAIN, 'serve'], env);
      running.push(node);
      await waitFor(`${host} was ready`, () => run(process.execPath, [MAIN, 'health', '--ready'], { env }), node.ended);
      return node;
    };
    const hosts = Object.values(ADDRESSES);
    await run(process.execPath, [MAIN, 'migrate'], { env: environment(hosts[0] ?? '') });
    const nodes: Record<string, Running> = {};
    for (const host of hosts) nodes[host] = await startNode(host);
    const server = start(program, proxy.runArgs(file), { PATH: process.env.PATH });
    running.push(server);
    const client = new HttpsClient({ port: ports.tls, ca: readFileSync(files.certificate) });
    await waitFor('TLS', () => client.get(ACCOUNTS_HOST, '/sign-in'), server.ended);
    return `${proxy.name} accepts the file; two nodes behind it ${await checkProxy({ client, nodes, restart: startNode, postgres })}`;
  } finally {
    await Promise.all(running.map((each) => each.stop()));
    await postgres.remove();
    rmSync(folder, { recursive: true });
  }
}

async function createCertificate(openssl: string, folder: string): Promise<Files> {
  const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
  const names = `subjectAltName=DNS:${API_HOST},DNS:${ACCOUNTS_HOST}`;
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  await run(openssl, [...made, '-subj', '/CN=test', '-addext', names, '-keyout', key, '-out', certificate]);
  return { folder, certificate, key };
}
