import type { Migration } from './migration.ts';

/** The partial indexes replace these. */
export const stopsContract: Migration = {
  name: '006-stops-contract',
  phase: 'contract',
  steps: [
    { kind: 'drop index', table: 'grants', name: 'grants_by_user' },
    { kind: 'drop index', table: 'grants', name: 'grants_by_app' },
  ],
};
