import { amount, choice, currency, date, notes, type Resource, reference, text } from './resource.ts';

const ID = '0190b9a1-8d5e-7f6a-9b7c-8d9e0f1a2b3c';

const EXPENSE_STATUSES = ['SUBMITTED', 'APPROVED', 'REIMBURSED', 'REJECTED'];

export const expenseCategories: Resource = {
  name: 'expense_category',
  plural: 'expense categories',
  title: 'ExpenseCategory',
  description: 'A kind of expense, such as travel.',
  path: '/api/v1/accounting/expense-categories',
  table: 'expense_categories',
  scopes: { read: 'read:expenses' },
  fields: {
    name: text('The name of the category.', { required: true, example: 'Travel' }),
    code: text('Its number in the chart of accounts.', { max: 20, example: '7400' }),
  },
  filters: [],
  sorts: [],
  unique: 'name',
  transitions: {},
  eventFields: ['name'],
  example: { name: 'Travel', code: '7400' },
};

export const expenses: Resource = {
  name: 'expense',
  plural: 'expenses',
  title: 'Expense',
  description: 'An expense claim of an employee.',
  path: '/api/v1/accounting/expenses',
  table: 'expenses',
  scopes: { read: 'read:expenses' },
  fields: {
    description: text('What was bought.', { required: true, example: 'Train to Leeds' }),
    status: choice(EXPENSE_STATUSES, 'The status of the claim.', { initial: 'SUBMITTED' }),
    amount: amount('What it cost, with tax.', { required: true }),
    currency: currency(),
    spentOn: date('When it was bought.', { required: true }),
    categoryId: reference('expense_category', 'The category of the expense.'),
    employeeId: reference('employee', 'The employee who made the claim.'),
    notes: notes('Anything else.'),
  },
  filters: ['status', 'categoryId'],
  sorts: ['spentOn'],
  transitions: {},
  eventFields: ['description', 'status', 'amount', 'currency'],
  example: {
    description: 'Train to Leeds',
    status: 'APPROVED',
    amount: '64.20',
    currency: 'GBP',
    spentOn: '2026-06-12',
    categoryId: ID,
    employeeId: ID,
    notes: 'Trade fair.',
  },
};
