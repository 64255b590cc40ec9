import { createAccounts } from './initial/accounts.ts';
import { createApps } from './initial/apps.ts';
import { createBusinessData } from './initial/business.ts';
import { createMail } from './initial/mail.ts';
import { createAudit, createOperations } from './initial/operations.ts';
import { createWebhooks } from './initial/webhooks.ts';
import type { SchemaChange } from './migration.ts';

export const initial: SchemaChange = async (db, types) => {
  for (const create of [
    createAccounts,
    createApps,
    createWebhooks,
    createAudit,
    createOperations,
    createBusinessData,
    createMail,
  ]) {
    await create(db, types);
  }
};
