import { notNull, references, type SchemaChange } from '../migration.ts';
import { createRecords, type Records } from '../records.ts';

/** The data of the business API. */
export const createBusinessData: SchemaChange = async (db, types) => {
  for (const table of TABLES) await createRecords(table)(db, types);
  // Reports read invoices by their issue date.
  await db.schema
    .createIndex('invoices_by_issue_date_id')
    .on('invoices')
    .columns(['business_id', 'issue_date', 'id'])
    .execute();
  for (const create of [numberSequences, idempotencyKeys]) await create(db, types);
};

const TABLES: Records[] = [
  {
    table: 'companies',
    columns: { name: 'text', status: 'text' },
    nullable: { website: 'text', tax_number: 'text', country: 'text', notes: 'text' },
    filters: ['status'],
    sorts: [],
    keys: ['name'],
  },
  {
    table: 'contacts',
    columns: { name: 'text', status: 'text' },
    nullable: { email: 'text', phone: 'text', job_title: 'text', company_id: 'id', notes: 'text' },
    filters: ['status', 'company_id'],
    sorts: [],
    keys: ['name', 'email'],
  },
  {
    table: 'invoices',
    columns: {
      number: 'text',
      status: 'text',
      total: 'amount',
      currency: 'text',
      customer_id: 'text',
      issue_date: 'text',
      due_date: 'text',
      subtotal: 'amount',
      tax: 'amount',
      amount_paid: 'amount',
      amount_due: 'amount',
      lines: 'text',
      payments: 'text',
    },
    nullable: { notes: 'text' },
    filters: ['status', 'customer_id'],
    sorts: ['due_date'],
    unique: 'number',
  },
  {
    table: 'deals',
    columns: { title: 'text', stage: 'text', amount: 'amount', currency: 'text' },
    nullable: {
      contact_id: 'id',
      company_id: 'id',
      expected_close_date: 'text',
      lost_reason: 'text',
      notes: 'text',
    },
    filters: ['stage', 'contact_id'],
    sorts: [],
  },
  {
    table: 'employees',
    columns: { name: 'text', status: 'text', employment_type: 'text', start_date: 'text' },
    nullable: { email: 'text', job_title: 'text', department: 'text', end_date: 'text' },
    filters: ['status', 'department'],
    sorts: [],
    keys: ['name', 'email'],
  },
  {
    table: 'expense_categories',
    columns: { name: 'text' },
    nullable: { code: 'text' },
    filters: [],
    sorts: [],
    unique: 'name',
  },
  {
    table: 'expenses',
    columns: { description: 'text', status: 'text', amount: 'amount', currency: 'text', spent_on: 'text' },
    nullable: { category_id: 'id', employee_id: 'id', notes: 'text' },
    filters: ['status', 'category_id'],
    sorts: ['spent_on'],
  },
  {
    table: 'orders',
    columns: {
      number: 'text',
      status: 'text',
      fulfilment_status: 'text',
      total: 'amount',
      currency: 'text',
      ordered_on: 'text',
      items: 'text',
    },
    nullable: { customer_id: 'id', shipped_on: 'text', carrier: 'text', tracking_number: 'text' },
    filters: ['status', 'fulfilment_status'],
    sorts: ['ordered_on'],
    unique: 'number',
  },
];

/** The next number of each numbered resource of a business. */
const numberSequences: SchemaChange = async (db, { id, integer }) => {
  await db.schema
    .createTable('number_sequences')
    .addColumn('business_id', id, references('businesses.id'))
    .addColumn('resource', 'text', notNull)
    .addColumn('next', integer, notNull)
    .addPrimaryKeyConstraint('number_sequences_key', ['business_id', 'resource'])
    .execute();
};

/** The responses to writes with an `Idempotency-Key`, for repeated requests. */
const idempotencyKeys: SchemaChange = async (db, { id, integer, time }) => {
  await db.schema
    .createTable('idempotency_keys')
    .addColumn('business_id', id, references('businesses.id'))
    .addColumn('app_id', id, notNull)
    .addColumn('user_id', id, notNull)
    .addColumn('key', 'text', notNull)
    .addColumn('request_hash', 'text', notNull)
    .addColumn('status', integer, notNull)
    .addColumn('response', 'text', notNull)
    .addColumn('created_at', time, notNull)
    .addPrimaryKeyConstraint('idempotency_keys_key', ['business_id', 'app_id', 'user_id', 'key'])
    .execute();
  await db.schema.createIndex('idempotency_keys_by_age').on('idempotency_keys').column('created_at').execute();
};
