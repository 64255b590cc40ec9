import { choice, email, notes, type Resource, reference, text } from './resource.ts';

const ID = '0190b9a1-8d5e-7f6a-9b7c-8d9e0f1a2b3c';

/** Other records refer to these, so they are archived, and never deleted. */
const STATUSES = ['ACTIVE', 'ARCHIVED'];

const archiving = (noun: string): Resource['transitions'] => ({
  archive: {
    summary: `Archive a ${noun}`,
    description: `Marks the ${noun} as archived: lists with \`status=ACTIVE\` leave it out. Records that refer to it stay.`,
    from: ['ACTIVE'],
    change: () => ({ status: 'ARCHIVED' }),
  },
  restore: {
    summary: `Restore a ${noun}`,
    description: `Undoes \`archive\`.`,
    from: ['ARCHIVED'],
    change: () => ({ status: 'ACTIVE' }),
  },
});

export const companies: Resource = {
  name: 'company',
  plural: 'companies',
  title: 'Company',
  description: 'An organisation that the business deals with.',
  path: '/api/v1/crm/companies',
  table: 'companies',
  scopes: { read: 'read:contacts', write: 'write:contacts' },
  fields: {
    name: text('The name of the company.', { required: true, example: 'Northwind Traders' }),
    status: choice(STATUSES, 'Whether it is archived.', { computed: true, initial: 'ACTIVE' }),
    website: text('Its website.', { example: 'https://northwind.example.com' }),
    taxNumber: text('Its VAT or tax number.', { max: 40, example: 'GB123456789' }),
    country: text('ISO 3166-1 alpha-2.', { max: 2, example: 'GB' }),
    notes: notes('Anything else.'),
  },
  filters: ['status'],
  sorts: [],
  state: { field: 'status' },
  transitions: archiving('company'),
  eventFields: ['name', 'status'],
  example: {
    name: 'Northwind Traders',
    status: 'ACTIVE',
    website: 'https://northwind.example.com',
    taxNumber: 'GB123456789',
    country: 'GB',
    notes: 'Orders every two weeks.',
  },
};

export const contacts: Resource = {
  name: 'contact',
  plural: 'contacts',
  title: 'Contact',
  description: 'A person that the business deals with.',
  path: '/api/v1/crm/contacts',
  table: 'contacts',
  scopes: { read: 'read:contacts', write: 'write:contacts' },
  fields: {
    name: text('The name of the person.', { required: true, example: 'Mara Lindqvist' }),
    status: choice(STATUSES, 'Whether the contact is archived.', { computed: true, initial: 'ACTIVE' }),
    email: email('The email address.'),
    phone: text('The phone number.', { max: 40, example: '+44 20 7946 0018' }),
    jobTitle: text('The job title.', { example: 'Head of purchasing' }),
    companyId: reference('company', 'The company that they work for.'),
    notes: notes('Anything else.'),
  },
  filters: ['status', 'companyId'],
  sorts: [],
  state: { field: 'status' },
  transitions: archiving('contact'),
  eventFields: ['name', 'status'],
  example: {
    name: 'Mara Lindqvist',
    status: 'ACTIVE',
    email: 'mara@northwind.example.com',
    phone: '+44 20 7946 0018',
    jobTitle: 'Head of purchasing',
    companyId: ID,
    notes: 'Call after 10 am.',
  },
};
