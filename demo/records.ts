import type { Business } from '../src/accounts/businesses.ts';
import { insertRecords, toNewRow } from '../src/business/records.ts';
import type { Row } from '../src/business/rows.ts';
import { DAY } from '../src/lib/clock.ts';
import { findResource } from '../src/resources/all.ts';
import { STAGES } from '../src/resources/deals.ts';
import type { Values } from '../src/resources/resource.ts';
import type { Database } from '../src/storage/storage.ts';
import type { DemoBusiness } from './businesses.ts';

const DAYS = 365;
const MONTHS = 12;
const BATCH_SIZE = 200;

/** Deterministic, and without a pattern that shows. */
const vary = (n: number, below: number) => ((n * 7919 + 104_729) % 65_537) % below;
const pick = <Item>(items: readonly Item[], n: number): Item => items[n % items.length] as Item;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);
const slug = (name: string) => name.toLowerCase().replace(/[^a-z]+/g, '-');

/** A record and the time of its creation. */
type Dated = [values: Values, at: number];

/** A year of records of one business, up to now. */
export async function addDemoRecords(db: Database, business: Business, demo: DemoBusiness, now: number): Promise<void> {
  const add = (name: string, records: Dated[]) => insertAll(db, { businessId: business.id, name, records }, now);
  const companies = await add('company', companiesOf(demo, now));
  const contacts = await add('contact', contactsOf(demo, companies, now));
  const staff = await add('employee', staffOf(demo, business, now));
  const categories = await add('expense_category', categoriesOf(demo, now));
  await add('invoice', invoicesOf(demo, contacts, now));
  await add('deal', dealsOf(demo, contacts, now));
  await add('expense', expensesOf(demo, { staff, categories }, now));
  await add('order', ordersOf(demo, contacts, now));
}

/** Without events: the records are older than the connections of apps. */
async function insertAll(
  db: Database,
  { businessId, name, records }: { businessId: string; name: string; records: Dated[] },
  now: number,
): Promise<Row[]> {
  const resource = findResource(name);
  const rows = records.map(([values, at]) => toNewRow(resource, { businessId, values }, at));
  for (let start = 0; start < rows.length; start += BATCH_SIZE) {
    const batch = { businessId, rows: rows.slice(start, start + BATCH_SIZE), apps: [] };
    await insertRecords(db, resource, batch, now);
  }
  return rows;
}

/** Spread over the last twelve months: `count` in each. */
function timesOf(count: number, now: number): number[] {
  const all = count * MONTHS;
  return Array.from({ length: all }, (_, n) => Math.round(now - ((all - n - 0.5) * DAYS * DAY) / all));
}

function companiesOf({ companies, country }: DemoBusiness, now: number): Dated[] {
  return companies.map((name, n) => {
    const website = `https://${slug(name)}.example`;
    return [{ name, country, website, taxNumber: `${country}${100_000_000 + vary(n, 60_000) * 13}` }, started(n, now)];
  });
}

/** Customers and staff were there before the first invoice. */
const started = (n: number, now: number) => now - (DAYS + 30 - n) * DAY;

function contactsOf({ people }: DemoBusiness, companies: Row[], now: number): Dated[] {
  const titles = ['Head of purchasing', 'Office manager', 'Owner', 'Accountant'];
  return people.map((name, n) => {
    const company = pick(companies, n);
    const email = `${slug(name)}@${slug(String(company.name))}.example`;
    const status = n === people.length - 1 ? 'ARCHIVED' : 'ACTIVE';
    return [{ name, email, status, jobTitle: pick(titles, n), companyId: company.id }, started(n, now)];
  });
}

function staffOf({ staff }: DemoBusiness, business: Business, now: number): Dated[] {
  return staff.map((person, n) => {
    const startDate = dayOf(now - (DAYS + 60 + vary(n, 900)) * DAY);
    const email = `${slug(person.name)}@${slug(business.name)}.example`;
    return [{ ...person, email, startDate, status: n === 3 ? 'ON_LEAVE' : 'ACTIVE' }, started(n, now)];
  });
}

function categoriesOf({ expenses }: DemoBusiness, now: number): Dated[] {
  return expenses.map(({ category, code }, n) => [{ name: category, code }, started(n, now)]);
}

function invoicesOf(demo: DemoBusiness, contacts: Row[], now: number): Dated[] {
  return timesOf(demo.perMonth.invoices, now).map((at, n) => {
    const lines = Array.from({ length: 1 + vary(n, 3) }, (_, line) => {
      const { description, unitPrice, quantity } = pick(demo.products, n + line * 2);
      return { description, unitPrice, quantity: String(1 + vary(n + line, quantity)), taxRate: demo.taxRate };
    });
    const invoice = {
      number: `${demo.prefix}-${1001 + n}`,
      currency: demo.currency,
      customerId: pick(contacts, vary(n, 97)).id,
      issueDate: dayOf(at),
      dueDate: dayOf(at + 30 * DAY),
      lines,
    };
    return [{ ...invoice, ...paymentOf(invoice, n, now) }, at];
  });
}

/** Most are paid within a month and a half; a few are late, void, or paid in part. */
function paymentOf(invoice: Values, n: number, now: number): Values {
  const issued = Date.parse(String(invoice.issueDate));
  const age = (now - issued) / DAY;
  if (age < 4) return { status: 'DRAFT' };
  if (n % 29 === 7) return { status: 'VOID' };
  const paidAfter = 9 + vary(n, 34);
  if (age < paidAfter || (n % 13 === 5 && age < 150)) return { status: age > 30 ? 'OVERDUE' : 'SENT' };
  const { total } = totalOf(invoice, issued);
  const method = pick(['Bank transfer', 'Card', 'Direct debit'], n);
  const date = dayOf(issued + paidAfter * DAY);
  const isPart = n % 17 === 3 && age < 120;
  const amount = isPart ? '25.00' : total;
  return { status: isPart ? (age > 30 ? 'OVERDUE' : 'SENT') : 'PAID', payments: [{ date, amount, method }] };
}

function totalOf(invoice: Values, at: number): Values {
  return findResource('invoice').compute?.({ ...invoice, payments: [] }, dayOf(at)) ?? {};
}

function dealsOf({ deals, currency, companies }: DemoBusiness, contacts: Row[], now: number): Dated[] {
  return Array.from({ length: companies.length * 2 }, (_, n) => {
    const contact = pick(contacts, n * 3);
    const stage = pick(STAGES, vary(n, 60));
    const company = pick(companies, contacts.indexOf(contact));
    const at = now - (20 + vary(n, stage === 'WON' || stage === 'LOST' ? 300 : 70)) * DAY;
    const deal = {
      title: `${pick(deals, n)} ${company}`,
      stage,
      amount: String(400 + vary(n, 180) * 50),
      currency,
      contactId: contact.id,
      companyId: contact.company_id,
      expectedCloseDate: dayOf(at + 90 * DAY),
      lostReason: stage === 'LOST' ? pick(['Chose a cheaper supplier', 'Postponed to next year'], n) : null,
    };
    return [deal, at];
  });
}

function expensesOf(
  demo: DemoBusiness,
  { staff, categories }: { staff: Row[]; categories: Row[] },
  now: number,
): Dated[] {
  return timesOf(demo.perMonth.expenses, now).map((at, n) => {
    const kind = vary(n, demo.expenses.length);
    const { claims, from } = pick(demo.expenses, kind);
    const age = (now - at) / DAY;
    const isRejected = n % 31 === 11;
    const status = age < 7 ? 'SUBMITTED' : isRejected ? 'REJECTED' : age < 35 ? 'APPROVED' : 'REIMBURSED';
    const expense = {
      description: pick(claims, n),
      status,
      amount: `${from + vary(n, 40)}.${String(vary(n, 20) * 5).padStart(2, '0')}`,
      currency: demo.currency,
      spentOn: dayOf(at - 2 * DAY),
      categoryId: pick(categories, kind).id,
      employeeId: pick(staff, vary(n, 71)).id,
    };
    return [expense, at];
  });
}

function ordersOf(demo: DemoBusiness, contacts: Row[], now: number): Dated[] {
  return timesOf(demo.perMonth.orders, now).map((at, n) => {
    const items = Array.from({ length: 1 + vary(n, 2) }, (_, item) => {
      const { sku, description, unitPrice } = pick(demo.products, n + item);
      return { sku, description, unitPrice, quantity: String(1 + vary(n + item, 3)) };
    });
    const order = { number: `#${1001 + n}`, currency: demo.currency, orderedOn: dayOf(at), items };
    return [{ ...order, customerId: pick(contacts, n * 7).id, ...fulfilmentOf(demo, n, at, now) }, at];
  });
}

/** Orders are packed on the next day, shipped on the second and delivered on the fifth. */
function fulfilmentOf({ carrier, country }: DemoBusiness, n: number, at: number, now: number): Values {
  const age = (now - at) / DAY;
  if (n % 37 === 9) return { status: 'CANCELLED' };
  if (age < 1) return { status: n % 2 === 0 ? 'PLACED' : 'PAID' };
  if (age < 2) return { status: 'PAID', fulfilmentStatus: 'PACKED' };
  const shipping = {
    carrier,
    shippedOn: dayOf(at + 2 * DAY),
    trackingNumber: `${country}${78_000_000 + vary(n, 65_000)}`,
  };
  if (age < 5) return { status: 'PAID', fulfilmentStatus: 'SHIPPED', ...shipping };
  return { status: n % 41 === 4 ? 'REFUNDED' : 'FULFILLED', fulfilmentStatus: 'DELIVERED', ...shipping };
}
