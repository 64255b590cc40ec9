import { initial } from './001-initial.ts';
import type { DeclaredMigration } from './migration.ts';

/** In order, forwards only. A migration that has been released is never edited. */
export const MIGRATIONS: DeclaredMigration[] = [
  {
    name: '001-initial',
    phase: 'expand',
    steps: [{ kind: 'change', title: 'create all tables', table: undefined, change: initial }],
  },
];
