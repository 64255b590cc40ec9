import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/ports.ts';
import { downloadPythonPackages, installPythonPackages, type Packages } from '../support/python-packages.ts';
import { SCOPES } from '../support/scopes.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import { type ServerInfo, startControlServer } from './python/control.ts';
import { LIBRARY, NO_PYTHON, runPython } from './python/interpreter.ts';

const PYRIGHT = fileURLToPath(new URL('../../node_modules/pyright/index.js', import.meta.url));
const INVOICES = 120;

interface Outcome {
  sentence: string;
  problem: string | null;
  skipped: string | null;
}

const packages: Packages = NO_PYTHON ? { missing: NO_PYTHON } : await downloadPythonPackages();
const site = packages.wheels ? await installPythonPackages(packages.wheels) : '';
const server = await startTestServer();
const serverInfo = await addPythonFixtures(server, INVOICES);
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

await reportPythonTests();

test('the Python library has no error in the strict checks of Pyright', { skip: packages.missing }, () => {
  const { status, stdout } = spawnSync(process.execPath, [PYRIGHT, '--project', LIBRARY], { encoding: 'utf8' });

  assert.equal(status, 0, stdout);
  assert.match(stdout, /^0 errors, 0 warnings/m);
});

test('the Python library has no error in the strict checks of mypy', { skip: packages.missing }, async () => {
  const cache = join(folder, 'mypy');

  const { status, stdout } = await runPython(['-m', 'mypy', '--cache-dir', cache], LIBRARY, { PYTHONPATH: site });

  assert.equal(status, 0, stdout);
  assert.match(stdout, /^Success: no issues found in \d+ source files$/m);
});

test('mypy and Pyright reject a misspelled scope, status or method, and nothing else', {
  skip: packages.missing,
}, async () => {
  const typed = mkdtempSync(join(folder, 'typed-'));
  const file = join(typed, 'program.py');
  writeFileSync(file, MISSPELLED);
  const extraPaths = [join(LIBRARY, 'src'), site];
  writeFileSync(join(typed, 'pyrightconfig.json'), JSON.stringify({ extraPaths, pythonVersion: '3.10' }));
  const expected = MISSPELLED.split('\n').flatMap((line, i) => (line.endsWith('# wrong') ? [i + 1] : []));

  const pyright = spawnSync(process.execPath, [PYRIGHT, '--project', typed, '--outputjson'], { encoding: 'utf8' });
  const args = ['-m', 'mypy', '--strict', '--cache-dir', join(folder, 'mypy'), file];
  const mypy = await runPython(args, typed, { PYTHONPATH: site, MYPYPATH: join(LIBRARY, 'src') });

  const { generalDiagnostics } = JSON.parse(pyright.stdout);
  const found = generalDiagnostics.map((each: { range: { start: { line: number } } }) => each.range.start.line + 1);
  assert.deepEqual([...new Set(found)], expected, pyright.stdout);
  const lines = [...mypy.stdout.matchAll(/program\.py:(\d+): error/g)].map(([, line]) => Number(line));
  assert.deepEqual([...new Set(lines)], expected, mypy.stdout);
});

const MISSPELLED = `
from gatehouse_client import Api, App, InvoiceStatus

def send(app: App, api: Api) -> None:
    app.begin_authorization(scopes=["read:invoices"], optional_scopes=["read:contacts"])
    app.begin_authorization(scopes=["read:invoice"])  # wrong
    invoices = api.business("x").invoices
    paid: list[InvoiceStatus] = [invoice.status for invoice in invoices.list(status="PAID")]
    invoices.list(status="PAYED")  # wrong
    print(paid, [invoice for invoice in invoices.list() if invoice.status == "PAID"])
    api.request("/api/v1/me", method="DELETE")
    api.request("/api/v1/me", method="FETCH")  # wrong
`;

test('its wheel builds, installs without other packages, and works from any folder', {
  skip: packages.missing,
}, async () => {
  const offline = ['--no-index', '--find-links', packages.wheels ?? ''];
  const built = await runPython(['-m', 'pip', 'wheel', ...offline, '--no-deps', '-w', folder, LIBRARY], folder);
  assert.equal(built.status, 0, built.stderr);
  const [wheel = '', ...more] = readdirSync(folder).filter((name) => name.endsWith('.whl'));
  assert.deepEqual([wheel, more], ['gatehouse_client-0.1.0-py3-none-any.whl', []]);

  const target = join(folder, 'installed');
  const install = ['-m', 'pip', 'install', '--no-index', '--target', target, join(folder, wheel)];
  const installed = await runPython(install, folder);
  assert.equal(installed.status, 0, installed.stderr);

  const { access_token } = await server.connect();
  writeFileSync(join(folder, 'program.py'), PROGRAM);
  const env = { PYTHONPATH: target, BASE_URL: server.api, ACCESS_TOKEN: access_token };
  const ran = await runPython(['-W', 'error', 'program.py'], folder, env);
  assert.deepEqual(ran, { status: 0, stdout: `Acme ${INVOICES} True\n`, stderr: '' });
});

const PROGRAM = `
import os
import gatehouse_client
from gatehouse_client import Api

api = Api(base_url=os.environ["BASE_URL"], access_token=os.environ["ACCESS_TOKEN"])
[business] = api.businesses()
is_installed = gatehouse_client.__file__.startswith(os.environ["PYTHONPATH"])
print(business.name, len(list(api.business(business.id).invoices.list())), is_installed)
`;

/** Adds what the Python tests expect: an app with a loopback redirect URI, and enough invoices for several pages. */
async function addPythonFixtures(server: TestServer, invoices: number): Promise<ServerInfo> {
  const redirectUris = ['http://127.0.0.1:8080/callback'];
  const ownerBusinessId = server.acme.id;
  const app = await server.addApp({ name: 'Snake', ownerBusinessId, redirectUris, requiresPkce: true, scopes: SCOPES });
  for (let i = 1; i <= invoices; i += 1) {
    server.advanceClock(1);
    const total = i === 1 ? '123456789012345678901234567890.90' : '1234.50';
    await server.addInvoice(server.acme, { number: `INV-${i}`, total, status: i % 3 === 0 ? 'PAID' : 'SENT' });
  }
  return startControlServer(server, app);
}

/** Reports each test of the Python library as a subtest. */
async function reportPythonTests(): Promise<void> {
  if (NO_PYTHON) return void test('the Python library', { skip: NO_PYTHON });
  const limited = await addPythonFixtures(await startTestServer({ LIMIT_PER_GRANT: '2' }), 0);
  const business = await addPythonFixtures(await startTestServer(), 0);
  const env = {
    PYTHONPATH: ['src', site].filter(Boolean).join(delimiter),
    GATEHOUSE_SERVERS: JSON.stringify({ usual: serverInfo, limited, business }),
    // For the web app of the README.
    FREE_PORT: String(await freePort()),
  };
  const { status, stdout, stderr } = await runPython(['-W', 'error', '-m', 'tests'], LIBRARY, env);
  const outcomes: Outcome[] = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

  for (const { sentence, problem, skipped } of outcomes) {
    test(`in Python: ${sentence}`, { skip: skipped ?? false }, () => assert.ok(problem === null, problem ?? ''));
  }
  test('the tests of the Python library ran to their end', () => {
    assert.ok(outcomes.length > 50, `${outcomes.length} tests; ${stderr}`);
    assert.deepEqual(
      { status, stderr },
      { status: outcomes.some(({ problem }) => problem !== null) ? 1 : 0, stderr: '' },
    );
  });
}
