import { companies, contacts } from './contacts.ts';
import { deals } from './deals.ts';
import { employees } from './employees.ts';
import { expenseCategories, expenses } from './expenses.ts';
import { invoices } from './invoices.ts';
import { orders } from './orders.ts';
import type { Resource } from './resource.ts';

/** Every resource of the business API. A resource comes after those that its records refer to. */
export const RESOURCES: readonly Resource[] = [
  companies,
  contacts,
  invoices,
  deals,
  employees,
  expenseCategories,
  expenses,
  orders,
];

export function findResource(name: string): Resource {
  const found = RESOURCES.find((resource) => resource.name === name);
  if (!found) throw new Error(`There is no resource ${name}.`);
  return found;
}
