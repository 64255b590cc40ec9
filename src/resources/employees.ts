import { choice, date, email, type Resource, text } from './resource.ts';

export const employees: Resource = {
  name: 'employee',
  plural: 'employees',
  title: 'Employee',
  description: 'A person who works for the business.',
  path: '/api/v1/hr/employees',
  table: 'employees',
  scopes: { read: 'read:employees' },
  fields: {
    name: text('The name of the person.', { required: true, example: 'Jonas Weber' }),
    status: choice(['ACTIVE', 'ON_LEAVE', 'LEFT'], 'Whether they are employed now.', { initial: 'ACTIVE' }),
    email: email('The work email address.'),
    jobTitle: text('The job title.', { example: 'Roaster' }),
    department: text('The department.', { example: 'Production' }),
    employmentType: choice(['FULL_TIME', 'PART_TIME', 'CONTRACTOR'], 'The type of employment.', {
      initial: 'FULL_TIME',
    }),
    startDate: date('The first day of employment.', { required: true }),
    endDate: date('The last day of employment.'),
  },
  filters: ['status', 'department'],
  sorts: [],
  transitions: {},
  eventFields: ['name', 'status'],
  example: {
    name: 'Jonas Weber',
    status: 'ACTIVE',
    email: 'jonas@harbour.example.com',
    jobTitle: 'Roaster',
    department: 'Production',
    employmentType: 'FULL_TIME',
    startDate: '2023-04-01',
    endDate: null,
  },
};
