import type { Migration } from './migration.ts';

/**
 * A row with a `parameter` is a rejected authorize request. A node of 0.2.0 or older writes none. It shows them without what these
 * columns say, and trims them together with the app's own requests.
 */
export const rejectedAuthorizations: Migration = {
  name: '006-rejected-authorizations',
  phase: 'expand',
  steps: [
    {
      kind: 'change',
      title: 'add the rejected parameter to logged_requests',
      table: 'logged_requests',
      async change(db) {
        for (const column of ['parameter', 'redirect_origin', 'redirect_difference']) {
          await db.schema.alterTable('logged_requests').addColumn(column, 'text').execute();
        }
      },
    },
  ],
};
